// What the scripts do that place a schedule in its shard's queue (src/redis/lua/fire.lua, reschedule.lua), on a
// simulated server.

import { isFresh, put, refused } from './queue-state.js';
import type { RedisServer, ScriptModel } from './redis-server.js';

const NOTE = /^(\d+) (\d*)$/;

const reschedule: ScriptModel = (redis, keys, [entry = '', due = '', generation = '']) => {
  const [dueKey = '', inflightKey = '', taskKey = '', stateKey = ''] = keys;
  const task = redis.hash(taskKey);
  if (redis.set(inflightKey).has(entry)) {
    const [, notedGeneration = '', notedDue = ''] = NOTE.exec(task.get(`moved:${entry}`) ?? '') ?? [];
    if (notedGeneration === '' || notedDue === '' || Number(notedGeneration) <= Number(generation)) {
      task.set(`moved:${entry}`, `${generation} ${due}`);
    }
    return [2, 0];
  }
  if (Number(task.get(entry) ?? 0) > Number(generation)) return [3, 0];
  if (due === '' || Number(due) >= Number(redis.hash(stateKey).get('announced') ?? 0)) {
    redis.set(dueKey).delete(entry);
    task.delete(entry);
    return [0, 0];
  }
  const before = redis.head(dueKey);
  redis.set(dueKey).set(entry, Number(due));
  task.set(entry, generation);
  const after = redis.head(dueKey);
  return [1, before?.[0] !== after?.[0] || before?.[1] !== after?.[1] ? 1 : 0];
};

const fire: ScriptModel = (redis, keys, args) => {
  const [, , , stateKey = ''] = keys;
  const [epoch = '', freshMs = '', madeMs = '', limitText = ''] = args;
  const refusal = refused(redis, stateKey, epoch);
  if (refusal !== null) return [refusal];
  const limit = Number(limitText);
  const isFull = limit >= 0;
  const isKept = !isFull && isFresh(redis, stateKey, Number(madeMs), Number(freshMs));
  const state = redis.hash(stateKey);
  let over = isFull ? Number(state.get('over') ?? 0) : 0;
  let withoutRoom = 0;
  const held: number[] = [];
  let at = 4;
  while (at < args.length) {
    const [entry = '', token = '', nextDue = '', generation = '', count = '0'] = args.slice(at, at + 5);
    at += 5;
    for (const end = at + 3 * Number(count); at < end; at += 3) {
      if (isFull && over >= limit) {
        withoutRoom += 1;
        continue;
      }
      const [id = '', due = '', payload = ''] = args.slice(at, at + 3);
      const code = put(redis, { keys, id, due: Number(due), payload: isKept ? payload : '' });
      if (isFull && code === 1) over += 1;
    }
    held.push(land(redis, keys, { entry, token, nextDue, generation }));
  }
  if (isFull) state.set('over', String(over));
  return ['OK', withoutRoom, ...held];
};

/** Ends the claim of a schedule and places it again: at the earlier of two places where it was changed meanwhile. */
function land(
  redis: RedisServer,
  [dueKey = '', inflightKey = '', taskKey = '', stateKey = '']: readonly string[],
  { entry, token, nextDue, generation }: { entry: string; token: string; nextDue: string; generation: string },
): number {
  const task = redis.hash(taskKey);
  if (task.get(entry) !== token) return 0;
  const [, notedGeneration = '', notedDue = ''] = NOTE.exec(task.get(`moved:${entry}`) ?? '') ?? [];
  redis.set(inflightKey).delete(entry);
  task.delete(entry);
  task.delete(`moved:${entry}`);
  const isOther = notedGeneration !== '' && notedGeneration !== generation;
  const isNotedFirst = nextDue === '' || (notedDue !== '' && Number(notedDue) < Number(nextDue));
  const place = isOther && isNotedFirst ? notedDue : nextDue;
  if (place !== '' && Number(place) < Number(redis.hash(stateKey).get('announced') ?? 0)) {
    redis.set(dueKey).set(entry, Number(place));
    task.set(entry, isOther ? notedGeneration : generation);
  }
  return 1;
}

export const scheduleScripts: Readonly<Record<string, ScriptModel>> = { fire, reschedule };
