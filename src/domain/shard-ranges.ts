// Many shards in a few characters, for people: "0-84, 86".

/** The shards in ascending runs; each once. Empty for none. */
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
