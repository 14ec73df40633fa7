// What the scripts of a shard's queue do (src/redis/lua), on a simulated server; those of schedules are in schedule-
// scripts.ts. That they do what the Lua files do is held by test/differential/redis.test.ts.

import type { RedisServer, ScriptModel } from './redis-server.js';
import { isFresh, put, refused, triples } from './queue-state.js';
import { scheduleScripts } from './schedule-scripts.js';

const claim: ScriptModel = (redis, keys, [epoch = '', limitText = '', visibility = '', answerBy = '']) => {
  const [dueKey = '', inflightKey = '', taskKey = '', stateKey = ''] = keys;
  const refusal = refused(redis, stateKey, epoch);
  if (refusal !== null) return [refusal];
  const now = redis.timeMs();
  if (now > Number(answerBy)) return ['LATE', now];
  const limit = Number(limitText);
  const due = redis.set(dueKey);
  const inflight = redis.set(inflightKey);
  const task = redis.hash(taskKey);
  const lapsed = (redis.head(inflightKey)?.[1] ?? Infinity) > now ? [] : redis.sorted(inflightKey).slice(0, limit);
  for (const [id, lapsesAtMs] of lapsed) {
    if (lapsesAtMs > now) break;
    inflight.delete(id);
    task.delete(id);
    due.set(id, now);
  }
  const isDue = (redis.head(dueKey)?.[1] ?? Infinity) <= now;
  const first = isDue ? redis.sorted(dueKey).slice(0, limit) : [];
  const claimed = first.filter(([, dueAtMs]) => dueAtMs <= now);
  const reply: (string | number)[] = ['OK', now, -1, -1];
  const state = redis.hash(stateKey);
  if (claimed.length > 0) state.set('claims', String(Number(state.get('claims') ?? 0) + 1));
  claimed.forEach(([id, dueAtMs], index) => {
    const token = `${epoch}.${state.get('claims') ?? ''}.${index + 1}`;
    reply.push(id, token, task.get(id) ?? '', String(dueAtMs));
    due.delete(id);
    inflight.set(id, now + Number(visibility));
    task.set(id, token);
  });
  reply[2] = redis.head(dueKey)?.[1] ?? -1;
  reply[3] = redis.head(inflightKey)?.[1] ?? -1;
  return reply;
};

export const shardScripts: Readonly<Record<string, ScriptModel>> = {
  ...scheduleScripts,
  claim,
  fence: (redis, [stateKey = ''], [epoch = '', run = '', forget = '']) => {
    const state = redis.hash(stateKey);
    const stored = Number(state.get('epoch') ?? -1);
    if (stored > Number(epoch)) return [0, stored, 0, 0];
    const isSameRun = state.get('run') === run;
    state.set('epoch', epoch);
    state.set('run', run);
    if (forget === '1' || !isSameRun) {
      state.delete('announced');
      state.delete('completed');
    }
    return [1, stored, Number(state.get('announced') ?? 0), Number(state.get('completed') ?? 0)];
  },
  settle: (redis, [dueKey = '', inflightKey = '', taskKey = '', tombKey = ''], args) =>
    Array.from({ length: args.length / 4 }, (_, index) => {
      const [id = '', token = '', backAt = '', payload = ''] = args.slice(4 * index);
      const settled = settleOne(redis, { dueKey, inflightKey, taskKey }, id, [token, backAt]);
      if (settled === 1 && payload !== '' && !redis.set(tombKey).has(id)) redis.hash(taskKey).set(id, payload);
      return settled;
    }),
  cancel: (redis, [dueKey = '', inflightKey = '', taskKey = '', tombKey = ''], [keptMs = '', ...ids]) => {
    const tomb = redis.set(tombKey);
    for (const [id, untilMs] of tomb) if (untilMs <= redis.timeMs()) tomb.delete(id);
    const results = ids.map((id) => {
      tomb.set(id, redis.timeMs() + Number(keptMs));
      if (!redis.set(dueKey).delete(id)) return redis.set(inflightKey).has(id) ? 2 : 0;
      redis.hash(taskKey).delete(id);
      return 1;
    });
    redis.expire(tombKey, Number(keptMs));
    return results;
  },
  'extend-visibility': (redis, [inflightKey = '', taskKey = ''], [visibility = '', ...claims]) => {
    const untilMs = redis.timeMs() + Number(visibility);
    const results: number[] = [];
    for (let at = 0; at < claims.length; at += 2) {
      const id = claims[at] ?? '';
      const isHeld = redis.hash(taskKey).get(id) === claims[at + 1];
      if (isHeld && redis.set(inflightKey).has(id)) redis.set(inflightKey).set(id, untilMs);
      results.push(isHeld ? 1 : 0);
    }
    return results;
  },
  accept: (redis, keys, args) => {
    const [dueKey = '', , , stateKey = ''] = keys;
    const before = redis.head(dueKey)?.[0];
    const isKept = isFresh(redis, stateKey, Number(args[1]), Number(args[0]));
    const codes = triples(args, 2).map(([id, due, payload]) =>
      put(redis, { keys, id, due, payload: isKept ? payload : '' }),
    );
    return [redis.head(dueKey)?.[0] === before ? 0 : 1, ...codes];
  },
  promote: (redis, keys, args) => {
    const [dueKey = '', , , stateKey = ''] = keys;
    const [epoch = '', announce = '', completed = ''] = args;
    const refusal = refused(redis, stateKey, epoch);
    if (refusal !== null) return [refusal, 0, 0];
    const state = redis.hash(stateKey);
    if (announce !== '' && Number(announce) > Number(state.get('announced') ?? 0)) state.set('announced', announce);
    state.delete('over');
    const before = redis.head(dueKey);
    const codes = triples(args, 3).map(([id, due, payload]) =>
      put(redis, { keys, id, due, payload: due > redis.timeMs() ? payload : '' }),
    );
    if (completed !== '' && Number(state.get('completed') ?? 0) < redis.timeMs() + 60_000)
      state.set('filled', String(redis.timeMs()));
    if (completed !== '') state.set('completed', completed);
    const after = redis.head(dueKey);
    const isMoved = before?.[0] !== after?.[0] || before?.[1] !== after?.[1];
    return ['OK', codes.filter((code) => code === 1).length, isMoved ? 1 : 0];
  },
};

function settleOne(
  redis: RedisServer,
  { dueKey, inflightKey, taskKey }: { dueKey: string; inflightKey: string; taskKey: string },
  id: string,
  [token, backAt]: readonly [string | number, string],
): number {
  if (redis.hash(taskKey).get(id) !== token) return 0;
  redis.set(inflightKey).delete(id);
  redis.hash(taskKey).delete(id);
  if (backAt !== '') redis.set(dueKey).set(id, Number(backAt));
  return 1;
}
