// What the scripts of the lock servers do (src/redis/lua/lock-*.lua), on a simulated server.

import type { RedisServer, ScriptModel } from './redis-server.js';

export const lockScripts: Readonly<Record<string, ScriptModel>> = {
  'lock-acquire': (redis, keys, [value = '', ttl = '0'], by) => {
    const bootKey = (keys[0] ?? '').replace(/lease:\d+$/, 'boot');
    if (redis.get(bootKey) === null) redis.put(bootKey, String(redis.timeMs()), by);
    const bootMs = Number(redis.get(bootKey)?.text);
    if (redis.timeMs() - bootMs < Number(ttl) * 1.01 + 2) return 0;
    return takeAll(redis, keys, value, Number(ttl), by);
  },
  'lock-extend': (redis, keys, [value = '', ttl = '0'], by) => takeAll(redis, keys, value, Number(ttl), by),
  'lock-release': (redis, keys, [value = '']) => {
    for (const key of keys) if (redis.get(key)?.text === value) redis.remove(key);
    return keys.length;
  },
};

function takeAll(
  redis: RedisServer,
  keys: readonly string[],
  value: string,
  ttlMs: number,
  by: { id: string },
): number {
  if (keys.some((key) => (redis.get(key)?.text ?? value) !== value)) return 0;
  for (const key of keys) redis.put(key, value, by, ttlMs);
  return keys.length;
}
