// Estimates the time of Redis between two measurements: Redis's clock decides what is due.
//
// In a Redis Cluster the clock of each shard's master decides. The node uses the one that is furthest behind, so that
// it never considers an entry due before its master does, and its actors do not claim without success until a slow
// master agrees. Entries on a master that is ahead are late by the difference. Clocks should differ by no more than NTP
// allows; the node logs a warning when they differ by more.

import { Cluster, type Redis } from 'ioredis';
import type { Cancel, Clock, ProcessTime } from '../domain/clock.js';
import { every } from '../time/waiting.js';

const MEASURE_EVERY_MS = 2_000;
/** The midpoint of an answer this fast is as precise as any earlier estimate. */
const PROMPT_MS = 20;

/**
 * Returns the offset after a measurement. Redis's time was read between `askedAtMs` and `answeredAtMs` (by the
 * monotonic clock), so its offset lies between two bounds. A fast answer sets the offset to their midpoint; a slow one,
 * because the process was busy or frozen meanwhile, only moves it inside the bounds.
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

/** Largest difference between the clocks of a cluster's masters that is not reported. */
const MAX_SKEW_MS = 100;

type Server = Pick<Redis, 'time'>;

/** Advances from the last measurement by the monotonic clock, so that a step of the node's wall clock has no effect. */
export class RedisClock implements Clock {
  readonly #redis: Server | Cluster;
  readonly #time: ProcessTime;
  readonly #nodeClock: Clock;
  readonly #onSkew: (skewMs: number) => void;
  /** Each server's time minus the monotonic time. */
  #offsets = new Map<Server, number>();
  /** The offset in use; null until Redis was first measured. */
  #offsetMs: number | null = null;
  #isSkewReported = false;
  #cancelMeasuring: Cancel | null = null;

  /**
   * `onSkew` is called once when the masters of a cluster differ by more than 100 ms, and again after they had agreed.
   */
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

  /** Returns the node's own wall clock until Redis was first measured. */
  nowMs(): number {
    return this.#offsetMs === null ? this.#nodeClock.nowMs() : this.#time.monotonicMs() + this.#offsetMs;
  }

  /** Measures at once and then every two seconds until stopped. Rejects when Redis does not answer the first time. */
  async start(): Promise<void> {
    await this.#measure();
    this.#cancelMeasuring ??= every(this.#time, MEASURE_EVERY_MS, () => {
      // Redis is unavailable: the last offset stays in use.
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
    // Drops the offsets of servers that are gone.
    const known = new Map([...this.#offsets].filter(([server]) => servers.includes(server)));
    this.#offsets = known;
    const measured = await Promise.allSettled(servers.map((server) => measureOffset(server, known, this.#time)));
    if (known.size === 0)
      throw (measured[0] as PromiseRejectedResult | undefined)?.reason ?? new Error('no Redis server');
    const offsets = [...known.values()];
    this.#offsetMs = Math.min(...offsets);
    this.#reportSkew(Math.max(...offsets) - this.#offsetMs);
  }

  #reportSkew(skewMs: number): void {
    if (skewMs > MAX_SKEW_MS && !this.#isSkewReported) this.#onSkew(Math.round(skewMs));
    this.#isSkewReported = skewMs > MAX_SKEW_MS;
  }
}

async function measureOffset(server: Server, known: Map<Server, number>, time: ProcessTime): Promise<void> {
  const askedAtMs = time.monotonicMs();
  const [seconds, microseconds] = await server.time();
  const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  known.set(server, offsetAfter(known.get(server) ?? null, { redisMs, askedAtMs, answeredAtMs: time.monotonicMs() }));
}
