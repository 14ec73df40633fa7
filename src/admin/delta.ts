// The changes from one snapshot to the next. Pure; `applyDelta` in protocol.ts is the reverse.

import type { ClusterEvent, Delta, NodePicture, Picture, ShardPicture } from './protocol.js';

type Writable<Of> = { -readonly [Name in keyof Of]: Of[Name] };

/**
 * Returns the delta between two snapshots; null when nothing changed. With `whole` false it omits numbers that change
 * all the time, and contains only nodes and shards that changed their state, and events.
 */
export function deltaOf(before: Picture, after: Picture, seq: number, whole: boolean): Delta | null {
  const delta: Writable<Delta> = { type: 'delta', seq, atMs: after.atMs };
  const nodes = changedNodes(before.nodes, after.nodes, whole);
  const ids = new Set(after.nodes.map(({ id }) => id));
  const gone = before.nodes.map(({ id }) => id).filter((id) => !ids.has(id));
  const shards = after.shards.filter((shard, index) => !isSameShard(shard, before.shards[index]));
  const events = newEvents(before.events, after.events);
  if (nodes.length > 0) delta.nodes = nodes;
  if (gone.length > 0) delta.gone = gone;
  if (shards.length > 0) delta.shards = shards;
  if (events.length > 0) delta.events = events;
  if (!whole) return nodes.length + gone.length + shards.length + events.length === 0 ? null : delta;
  const rates = after.history.at(-1);
  if (rates !== undefined && rates !== before.history.at(-1)) delta.rates = rates;
  for (const name of ['levels', 'sweeps', 'stores'] as const) {
    if (!isSame(before[name], after[name])) Object.assign(delta, { [name]: after[name] });
  }
  return delta;
}

/** Returns the snapshot of viewers who received the delta without numbers: omitted values are the previous ones. */
export function toldPicture(before: Picture, after: Picture, whole: boolean): Picture {
  if (whole) return after;
  const known = new Map(before.nodes.map((node) => [node.id, node]));
  const nodes = after.nodes.map((node) => {
    const old = known.get(node.id);
    return old === undefined || isChanged(old, node, false) ? node : old;
  });
  const { history, levels, sweeps, stores } = before;
  return { ...after, nodes, history, levels, sweeps, stores };
}

function changedNodes(before: readonly NodePicture[], after: readonly NodePicture[], whole: boolean): NodePicture[] {
  const known = new Map(before.map((node) => [node.id, node]));
  return after.filter((node) => {
    const old = known.get(node.id);
    return old === undefined || isChanged(old, node, whole);
  });
}

function isChanged(old: NodePicture, node: NodePicture, whole: boolean): boolean {
  return whole ? !isSame(old, node) : old.state !== node.state || old.shards !== node.shards;
}

function isSameShard(shard: ShardPicture, old: ShardPicture | undefined): boolean {
  return shard.owner === old?.owner && shard.epoch === old.epoch && shard.state === old.state;
}

/** Events are only ever added. */
function newEvents(before: readonly ClusterEvent[], after: readonly ClusterEvent[]): ClusterEvent[] {
  if (before === after) return [];
  const known = new Set(before.map(({ id }) => id));
  return after.filter(({ id }) => !known.has(id));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
