// What time Redis has, as well as this node can know between two measurements: Redis's clock decides what is due.

import type { Redis } from 'ioredis';
import type { Clock } from '../domain/clock.js';

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

/** Counts on from the last measurement by the monotonic clock, so that a step of the node's wall clock changes nothing. */
export class RedisClock implements Clock {
  readonly #redis: Pick<Redis, 'time'>;
  /** Redis's time minus the monotonic time; null until Redis was first asked. */
  #offsetMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(redis: Pick<Redis, 'time'>) {
    this.#redis = redis;
  }

  /** The node's own wall clock until Redis was first asked. */
  nowMs(): number {
    return this.#offsetMs === null ? Date.now() : performance.now() + this.#offsetMs;
  }

  /** Measures now and then every two seconds, until stopped. Throws when Redis does not answer the first time. */
  async start(): Promise<void> {
    await this.#measure();
    this.#timer ??= setInterval(() => {
      // Redis is away: the last offset serves on.
      this.#measure().catch(() => undefined);
    }, MEASURE_EVERY_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #measure(): Promise<void> {
    const askedAtMs = performance.now();
    const [seconds, microseconds] = await this.#redis.time();
    const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    this.#offsetMs = offsetAfter(this.#offsetMs, { redisMs, askedAtMs, answeredAtMs: performance.now() });
  }
}
