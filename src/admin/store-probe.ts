// Measures the round trip to each store and the memory of Redis, at intervals while somebody watches.

import type { ProcessTime } from '../domain/clock.js';
import type { KnownStores } from './snapshot.js';

interface ProbeParts {
  readonly time: ProcessTime;
  readonly isTableUp: () => boolean;
  readonly isQueueUp: () => boolean;
  readonly pingPostgres: () => Promise<unknown>;
  /** Null when it is unknown, as on a Redis Cluster. */
  readonly pingRedis: () => Promise<{ readonly usedBytes: number; readonly maxBytes: number } | null>;
}

export class StoreProbe {
  readonly #parts: ProbeParts;
  #table: number | null = null;
  #queue: number | null = null;
  #memory: { readonly usedBytes: number; readonly maxBytes: number } | null = null;
  #measuring = false;

  constructor(parts: ProbeParts) {
    this.#parts = parts;
  }

  get stores(): KnownStores {
    return {
      tableUp: this.#parts.isTableUp(),
      queueUp: this.#parts.isQueueUp(),
      tableRoundTripMs: this.#table,
      queueRoundTripMs: this.#queue,
      memoryBytes: this.#memory?.usedBytes ?? null,
      memoryMaxBytes: this.#memory === null || this.#memory.maxBytes === 0 ? null : this.#memory.maxBytes,
    };
  }

  /** Measures one at a time; a store that does not answer is waited for until its client's timeout. */
  async measure(): Promise<void> {
    if (this.#measuring) return;
    this.#measuring = true;
    const { pingPostgres, pingRedis } = this.#parts;
    const table = this.#timed(pingPostgres).then(({ tookMs }) => (this.#table = tookMs));
    const queue = this.#timed(pingRedis).then(({ tookMs, value }) => {
      this.#queue = tookMs;
      this.#memory = value ?? null;
    });
    await Promise.all([table, queue]).finally(() => (this.#measuring = false));
  }

  async #timed<Value>(ping: () => Promise<Value>): Promise<{ tookMs: number | null; value: Value | null }> {
    const startedAtMs = this.#parts.time.monotonicMs();
    try {
      const value = await ping();
      return { tookMs: Math.round((this.#parts.time.monotonicMs() - startedAtMs) * 10) / 10, value };
    } catch {
      return { tookMs: null, value: null };
    }
  }
}
