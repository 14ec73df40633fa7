// What time Redis has, as well as this node can know between two measurements: Redis's clock decides what is due.
//
// In a Redis Cluster each shard is judged by the clock of its master. The node goes by the one that is furthest behind: so it takes nothing for
// due that some master would not, and its actors do not ask in vain until a slow master agrees. What lies in a shard of a master that is
// ahead is late by their difference. Nobody should let them differ by more than NTP does; the node says so when they do.

import { Cluster, type Redis } from 'ioredis';
import type { Cancel, Clock, ProcessTime } from '../domain/clock.js';
import { every } from '../time/waiting.js';

const MEASURE_EVERY_MS = 2_000;
/** What an answer of this age tells in its middle is as good as anything known before. */
const PROMPT_MS = 20;

/**
 * The better of what was known and what a measurement tells: Redis's time was read somewhere between `askedAtMs` and `answeredAtMs` (by the
 * monotonic clock), so its offset lies between two bounds. Of a prompt answer the middle is taken; one that was long under way,
 * because the process was busy or frozen meanwhile, only corrects what lies outside the bounds.
 */
export function offsetAfter(
  knownMs: number | null,
  measured: { readonly redisMs: number; readonly askedAtMs: number; readonly answeredAtMs: number },
): number {
  const lowestMs = measured.redisMs - measured.answeredAtMs;
  const highestMs = measured.redisMs - measured.askedAtMs;
  if (knownMs === null || highestMs - lowestMs <= PROMPT_MS) return (lowestMs + highestMs) / 2;
  return Math.min(Math.max(knownMs, lowestMs), highestMs);
}

/** How far the clocks of a cluster's masters may be apart before somebody should be told. */
const SKEW_TOLD_MS = 100;

type Server = Pick<Redis, 'time'>;

/** Counts on from the last measurement by the monotonic clock, so that a step of the node's wall clock changes nothing. */
export class RedisClock implements Clock {
  readonly #redis: Server | Cluster;
  readonly #time: ProcessTime;
  readonly #nodeClock: Clock;
  readonly #onSkew: (skewMs: number) => void;
  /** Each server's time minus the monotonic time. */
  #offsets = new Map<Server, number>();
  /** The offset that counts; null until Redis was first asked. */
  #offsetMs: number | null = null;
  #skewTold = false;
  #cancelMeasuring: Cancel | null = null;

  /** `onSkew` is told once when the masters of a cluster differ by more than 100 ms, and again after they had agreed. */
  constructor(
    redis: Server | Cluster,
    own: { readonly time: ProcessTime; readonly nodeClock: Clock },
    onSkew: (skewMs: number) => void = () => undefined,
  ) {
    this.#redis = redis;
    this.#time = own.time;
    this.#nodeClock = own.nodeClock;
    this.#onSkew = onSkew;
  }

  /** The node's own wall clock until Redis was first asked. */
  nowMs(): number {
    return this.#offsetMs === null ? this.#nodeClock.nowMs() : this.#time.monotonicMs() + this.#offsetMs;
  }

  /** Measures now and then every two seconds, until stopped. Throws when Redis does not answer the first time. */
  async start(): Promise<void> {
    await this.#measure();
    this.#cancelMeasuring ??= every(this.#time, MEASURE_EVERY_MS, () => {
      // Redis is unavailable: the last offset serves on.
      this.#measure().catch(() => undefined);
    });
  }

  stop(): void {
    this.#cancelMeasuring?.();
    this.#cancelMeasuring = null;
  }

  async #measure(): Promise<void> {
    const servers: Server[] =
      this.#redis instanceof Cluster
        ? this.#redis.nodes('master').filter(({ status }) => status === 'ready')
        : [this.#redis];
    // Of those that are gone nothing is kept.
    const known = new Map([...this.#offsets].filter(([server]) => servers.includes(server)));
    this.#offsets = known;
    const measured = await Promise.allSettled(servers.map((server) => measureOffset(server, known, this.#time)));
    if (known.size === 0)
      throw (measured[0] as PromiseRejectedResult | undefined)?.reason ?? new Error('no Redis server');
    const offsets = [...known.values()];
    this.#offsetMs = Math.min(...offsets);
    this.#tellSkew(Math.max(...offsets) - this.#offsetMs);
  }

  #tellSkew(skewMs: number): void {
    if (skewMs > SKEW_TOLD_MS && !this.#skewTold) this.#onSkew(Math.round(skewMs));
    this.#skewTold = skewMs > SKEW_TOLD_MS;
  }
}

async function measureOffset(server: Server, known: Map<Server, number>, time: ProcessTime): Promise<void> {
  const askedAtMs = time.monotonicMs();
  const [seconds, microseconds] = await server.time();
  const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  known.set(server, offsetAfter(known.get(server) ?? null, { redisMs, askedAtMs, answeredAtMs: time.monotonicMs() }));
}
