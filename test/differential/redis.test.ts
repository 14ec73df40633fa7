// The models of our scripts do what the scripts do (issue 13, 5): the same random calls go to a Redis and to the
// simulated one, and each answer and everything that both have afterwards must be the same.
//
// Time is the test's: the one thing that is changed about a script is that it asks a key for the time, and not TIME.
// What Redis ends by its own clock (locks, sets of tombstones) is parked for an hour, and removed when the test's time
// comes to its end.

import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRedis, openRedis } from '../../src/redis/connect.js';
import { processTime } from '../../src/time/process-time.js';
import { Script } from '../../src/redis/script.js';
import { ownRedis, type OwnStore } from '../kit/stores.js';
import { anyStep, type Call, callOf, READY, type Step } from './redis-calls.js';
import { modelNames, RedisServer, sha1 } from '../sim/redis-server.js';
import { World } from '../sim/world.js';

const STEPS = Number(process.env.CARILLON_DIFFERENTIAL_STEPS ?? 4_000);
const SEED = Number(process.env.CARILLON_DIFFERENTIAL_SEED ?? Math.floor(Math.random() * 1e9));
/** In the mean. */
const STEPS_OF_RUN = 40;
const CLOCK = 'test:clock';
const PARKED_MS = 3_600_000;
/** Above what any script sets, below what a parked key has left. */
const IS_PARKED_MS = PARKED_MS / 2;

let store: OwnStore;
let redis: Redis;
beforeAll(async () => {
  store = await ownRedis();
  redis = createRedis({ url: store.url, timeoutMs: 5_000, onTrouble: () => undefined }) as Redis;
  await openRedis(redis, 5_000, processTime);
});
afterAll(async () => {
  await redis.quit();
  await store.stop();
});

/** The real scripts, which ask a key for the time. */
function source(name: string): string {
  return new Script(name).source.replaceAll("redis.call('TIME')", `redis.call('LRANGE', '${CLOCK}', 0, 1)`);
}

/** A Redis with nothing in it, beside a model of one. */
class Pair {
  readonly world = new World(1);
  readonly model = new RedisServer(this.world, 'model');
  readonly #ends = new Map<string, number>();

  async reset(): Promise<void> {
    await redis.flushall();
    await this.#setClock();
  }

  async advance(ms: number): Promise<void> {
    this.world.nowMs += ms;
    await this.#setClock();
    for (const [key, endsAtMs] of this.#ends) {
      if (endsAtMs > this.model.timeMs()) continue;
      this.#ends.delete(key);
      await redis.del(key);
    }
  }

  async call({ script, keys, args }: Call): Promise<{ real: unknown; model: unknown }> {
    const texts = args.map(String);
    const real: unknown = await redis.eval(source(script), keys.length, ...keys, ...texts);
    for (const key of keys) await this.#park(key);
    const model = this.model.script(sha1(new Script(script).source), keys, texts, { id: 'test' });
    return { real: comparable(script, real), model: comparable(script, model) };
  }

  async contents(): Promise<Record<string, unknown>> {
    const keys = (await redis.keys('*')).filter((key) => key !== CLOCK);
    const types = await Promise.all(keys.map((key) => redis.type(key)));
    const values = await Promise.all(keys.map((key, index) => read(key, types[index] ?? '')));
    return Object.fromEntries(keys.map((key, index) => [key, values[index]]));
  }

  /** Keeps a key that Redis would end by its own clock, until the test's time comes to that. */
  async #park(key: string): Promise<void> {
    const leftMs = await redis.pttl(key);
    if (leftMs < 0) {
      this.#ends.delete(key);
      return;
    }
    if (leftMs > IS_PARKED_MS) return;
    this.#ends.set(key, this.model.timeMs() + 1_000 * Math.ceil(leftMs / 1_000));
    await redis.pexpire(key, PARKED_MS);
  }

  async #setClock(): Promise<void> {
    const nowMs = this.model.timeMs();
    await redis.del(CLOCK);
    await redis.rpush(CLOCK, Math.floor(nowMs / 1_000), 1_000 * (nowMs % 1_000));
  }
}

async function read(key: string, type: string): Promise<unknown> {
  if (type === 'string') return redis.get(key);
  if (type === 'hash') return redis.hgetall(key);
  const flat = await redis.zrange(key, 0, '-1', 'WITHSCORES');
  return Object.fromEntries(pairs(flat).map(([member, score]) => [member, Number(score)]));
}

/** As it is seen by a client, save that a hash has no order. */
function comparable(script: string, reply: unknown): unknown {
  if (script !== 'heartbeat') return texts(reply);
  return (reply as unknown[]).map((part) =>
    Array.isArray(part) ? Object.fromEntries(pairs(part.map(String))) : String(part),
  );
}

function texts(reply: unknown): unknown {
  return Array.isArray(reply) ? reply.map(texts) : String(reply);
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((member, index) => (index % 2 === 0 ? [[member, flat[index + 1] ?? '']] : []));
}

const called = new Set<string>();

async function runBoth(steps: readonly Step[]): Promise<void> {
  const pair = new Pair();
  await pair.reset();
  for (const step of [...READY, ...steps]) {
    if (step.kind === 'advance') await pair.advance(step.ms);
    const call = callOf(step, pair.model);
    if (call === null) continue;
    called.add(call.script);
    const { real, model } = await pair.call(call);
    expect(model, `the answer to ${JSON.stringify(call)}`).toEqual(real);
    expect(pair.model.contents(), `what is there after ${JSON.stringify(call)}`).toEqual(await pair.contents());
  }
}

describe('the model of each script (issue 13, 5)', { timeout: 600_000 }, () => {
  it('answers as the script does and leaves the same behind, whatever is called in whatever order', async () => {
    const steps = fc.array(anyStep, { maxLength: 2 * STEPS_OF_RUN, size: 'max' });
    await fc.assert(fc.asyncProperty(steps, runBoth), { seed: SEED, numRuns: Math.ceil(STEPS / STEPS_OF_RUN) });
    expect([...called].sort()).toEqual([...modelNames].sort());
  });
});
