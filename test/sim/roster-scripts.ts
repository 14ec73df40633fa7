// What the scripts of the roster do (src/redis/lua/heartbeat.lua, clear-owner.lua), on a simulated server.

import type { ScriptModel } from './redis-server.js';

const MAX_DEAD = 100;

export const rosterScripts: Readonly<Record<string, ScriptModel>> = {
  heartbeat: (redis, [members = '', about = '', owners = '', deaths = ''], args) => {
    const [id = '', aboutIt = '', leaseMs = '0', rememberedMs = '0', ...owned] = args;
    const now = redis.timeMs();
    const dead = redis.sorted(members).filter(([, heardAtMs]) => heardAtMs < now - Number(leaseMs));
    for (const [gone] of dead.slice(0, MAX_DEAD)) {
      redis.set(deaths).set(gone, now);
      redis.set(members).delete(gone);
      redis.hash(about).delete(gone);
    }
    for (const [gone, diedAtMs] of redis.sorted(deaths)) {
      if (diedAtMs <= now - Number(rememberedMs)) redis.set(deaths).delete(gone);
    }
    redis.set(deaths).delete(id);
    redis.set(members).set(id, now);
    redis.hash(about).set(id, aboutIt);
    const mine = new Set(owned);
    for (const shard of owned) redis.hash(owners).set(shard, id);
    for (const [shard, owner] of redis.hash(owners)) {
      if (owner === id && !mine.has(shard)) redis.hash(owners).delete(shard);
    }
    return [now, scores(redis.sorted(members)), [...redis.hash(about)].flat(), [...redis.hash(owners)].flat()].concat([
      scores(redis.sorted(deaths)),
    ]);
  },
  'clear-owner': (redis, [owners = ''], [id = '', ...shards]) => {
    const named = shards.filter((shard) => redis.hash(owners).get(shard) === id);
    for (const shard of named) redis.hash(owners).delete(shard);
    return named.length;
  },
};

function scores(sorted: readonly [string, number][]): string[] {
  return sorted.flatMap(([member, score]) => [member, String(score)]);
}
