// Formats many shards in a few characters, for people: "0-84, 86".

/** Returns the shards as ascending runs, each shard once; '' for none. */
export function shardRanges(shards: readonly number[]): string {
  const sorted = [...new Set(shards)].sort((one, other) => one - other);
  const runs: { first: number; last: number }[] = [];
  for (const shard of sorted) {
    const run = runs.at(-1);
    if (run?.last === shard - 1) run.last = shard;
    else runs.push({ first: shard, last: shard });
  }
  return runs.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}
