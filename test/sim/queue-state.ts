// What several of the queue's scripts have in common (src/redis/lua/include), on a simulated server.

import type { RedisServer } from './redis-server.js';

type Refused = 'NOFENCE' | 'STALE' | null;

/** include/fence.lua. */
export function refused(redis: RedisServer, stateKey: string, epoch: string): Refused {
  const state = redis.hash(stateKey);
  const stored = state.get('epoch');
  if (stored === undefined) return 'NOFENCE';
  if (Number(epoch) < Number(stored)) return 'STALE';
  if (Number(epoch) > Number(stored)) state.set('epoch', epoch);
  return null;
}

/** include/fresh.lua. */
export function isFresh(redis: RedisServer, stateKey: string, madeMs: number, freshMs: number): boolean {
  const state = redis.hash(stateKey);
  const filledMs = Number(state.get('filled') ?? 0);
  return (
    Number(state.get('completed') ?? 0) > redis.timeMs() &&
    madeMs > filledMs + 1_000 &&
    madeMs > redis.timeMs() - freshMs
  );
}

interface Put {
  readonly keys: readonly string[];
  readonly id: string;
  readonly due: number;
  readonly payload: string;
}

/** include/put.lua. */
export function put(redis: RedisServer, { keys, id, due, payload }: Put): number {
  const [dueKey = '', inflightKey = '', taskKey = '', stateKey = '', tombKey = ''] = keys;
  if (due >= Number(redis.hash(stateKey).get('announced') ?? 0)) return 0;
  if ((redis.set(tombKey).get(id) ?? 0) > redis.timeMs()) return 3;
  if (redis.set(inflightKey).has(id)) return 2;
  const known = redis.set(dueKey).get(id);
  if (known !== undefined) {
    if (id.startsWith('s:') && due < known) redis.set(dueKey).set(id, due);
    return 2;
  }
  redis.set(dueKey).set(id, due);
  if (payload !== '') redis.hash(taskKey).set(id, payload);
  return 1;
}

export function triples(args: readonly string[], first: number): [string, number, string][] {
  const found: [string, number, string][] = [];
  for (let at = first; at + 2 < args.length; at += 3) {
    found.push([args[at] ?? '', Number(args[at + 1]), args[at + 2] ?? '']);
  }
  return found;
}
