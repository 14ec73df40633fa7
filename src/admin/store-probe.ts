// How long a round trip to each store takes and how full Redis is: asked now and then while somebody watches.

import type { ProcessTime } from '../domain/clock.js';
import type { KnownStores } from './snapshot.js';

interface ProbeParts {
  readonly time: ProcessTime;
  readonly isTableUp: () => boolean;
  readonly isQueueUp: () => boolean;
  readonly pingPostgres: () => Promise<unknown>;
  /** Null where it is not known, as on a Redis Cluster. */
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

  /** One at a time; a store that does not answer is waited for as long as its client waits. */
  async measure(): Promise<void> {
    if (this.#measuring) return;
    this.#measuring = true;
    const { pingPostgres: askTable, pingRedis: askQueue } = this.#parts;
    const table = this.#timed(askTable).then(({ tookMs }) => (this.#table = tookMs));
    const queue = this.#timed(askQueue).then(({ tookMs, value }) => {
      this.#queue = tookMs;
      this.#memory = value ?? null;
    });
    await Promise.all([table, queue]).finally(() => (this.#measuring = false));
  }

  async #timed<Value>(ask: () => Promise<Value>): Promise<{ tookMs: number | null; value: Value | null }> {
    const startedAtMs = this.#parts.time.monotonicMs();
    try {
      const value = await ask();
      return { tookMs: Math.round((this.#parts.time.monotonicMs() - startedAtMs) * 10) / 10, value };
    } catch {
      return { tookMs: null, value: null };
    }
  }
}
