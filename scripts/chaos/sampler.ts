/** Looks at the cluster from outside every two seconds while nothing is broken: idle schedules, orphans, work queued too early. */
import { Redis } from 'ioredis';
import type { Sample } from './evidence.js';
import { askSpread } from './recovery.js';
import type { Witness } from './witness.js';

export interface SamplerOptions {
  readonly url: string;
  readonly redisUrl: string;
  readonly witness: Witness;
  readonly shards: number;
  readonly queuedWithinMs: number;
  /** True while something is broken or recovering: then a look would say nothing. */
  readonly isDisturbed: () => boolean;
}

const EVERY_MS = 2_000;
/** An active schedule that is this late, with nothing broken, has been forgotten. */
const IDLE_MS = 5_000;
const PREFIX = 'carillon';

export class Sampler {
  readonly samples: Sample[] = [];
  readonly #options: SamplerOptions;
  readonly #redis: Redis;
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;

  constructor(options: SamplerOptions) {
    this.#options = options;
    this.#redis = new Redis(options.redisUrl, { retryStrategy: () => 500, commandTimeout: 2_000 });
    this.#redis.on('error', () => undefined);
    this.#timer = setInterval(() => {
      this.#looking ??= this.look().finally(() => (this.#looking = null));
    }, EVERY_MS);
  }

  /** Looks now. What was seen while something broke is thrown away. */
  async look(): Promise<void> {
    const { witness, isDisturbed, url } = this.#options;
    if (isDisturbed()) return;
    const idle = await witness.lateSchedules(IDLE_MS);
    const queuedBeyondHorizon = await this.#queuedBeyondHorizon();
    const spread = await askSpread(url);
    if (isDisturbed() || idle === null || queuedBeyondHorizon === null) return;
    const orphanShards = spread?.orphans ?? null;
    this.samples.push({ atMs: Date.now(), idleSchedules: idle, queuedBeyondHorizon, orphanShards });
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    this.#redis.disconnect();
  }

  async #queuedBeyondHorizon(): Promise<string[] | null> {
    const { shards, queuedWithinMs } = this.#options;
    const lookup = this.#redis.pipeline();
    const fromMs = Date.now() + queuedWithinMs;
    for (let shard = 0; shard < shards; shard++) {
      lookup.zrangebyscore(`${PREFIX}:{${shard}}:due`, fromMs, '+inf', 'LIMIT', 0, 10);
    }
    try {
      const results = (await lookup.exec()) ?? [];
      return results.flatMap(([error, ids]) => (error === null ? (ids as string[]) : []));
    } catch {
      return null;
    }
  }
}
