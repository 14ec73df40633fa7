// What time Redis has, as well as this node can know between two measurements: Redis's clock decides what is due.

import type { Redis } from 'ioredis';
import type { Clock } from '../domain/clock.js';

const MEASURE_EVERY_MS = 2_000;

/** Counts on from the last measurement by the monotonic clock, so that a step of the node's wall clock changes nothing. */
export class RedisClock implements Clock {
  readonly #redis: Redis;
  /** Redis's time minus the monotonic time; the node's own wall clock until Redis was first asked. */
  #offsetMs = Date.now() - performance.now();
  #timer: NodeJS.Timeout | null = null;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  nowMs(): number {
    return performance.now() + this.#offsetMs;
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
    const answeredAtMs = performance.now();
    this.#offsetMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000 - (askedAtMs + answeredAtMs) / 2;
  }
}
