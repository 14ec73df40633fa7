// Counts the work of this node since the last report: always, which costs a few additions for each delivery; published
// while the console is open.

import { LagBuckets } from './lag-buckets.js';
import type { SweepPicture } from './protocol.js';
import type { Speeds } from './node-report.js';

export type SweepName = 'promote' | 'rescue';

/** The counted facts of an attempt. */
export interface AttemptFacts {
  readonly message: { readonly dueAtMs: number };
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly attempt: number;
  readonly startedAtMs: number;
}

type Counts = { -readonly [Name in keyof Speeds]: number };

export class NodeFigures {
  readonly #lags = new LagBuckets();
  readonly #counts = none();
  readonly #sweeps: Record<SweepName, SweepPicture> = { promote: NEVER_SWEPT, rescue: NEVER_SWEPT };

  /** Counts a recorded attempt. `taken` is false when its message had ended otherwise by then. */
  attempted({ message, state, attempt, startedAtMs }: AttemptFacts, taken: boolean): void {
    if (attempt === 1) this.#lags.add(startedAtMs - message.dueAtMs);
    this.#counts[taken ? (state === 'pending' ? 'retried' : state) : 'superseded'] += 1;
  }

  fired(published: number, skipped: number): void {
    this.#counts.fired += published;
    this.#counts.skipped += skipped;
  }

  accepted(messages: number): void {
    this.#counts.accepted += messages;
  }

  /** Counts a sweep of a shard that ended. */
  swept(sweep: SweepName, failed: boolean, queued: number, atMs: number): void {
    const before = this.#sweeps[sweep];
    this.#sweeps[sweep] = {
      lastAtMs: atMs,
      lastQueued: queued,
      lastMovedAtMs: queued > 0 ? atMs : before.lastMovedAtMs,
      lastMoved: queued > 0 ? queued : before.lastMoved,
      runs: before.runs + 1,
      failures: before.failures + (failed ? 1 : 0),
      queued: before.queued + queued,
    };
  }

  get sweeps(): { readonly promote: SweepPicture; readonly rescue: SweepPicture } {
    return { ...this.#sweeps };
  }

  /** Returns and resets the counts as rates per second, and the lags. */
  take(elapsedMs: number): { speeds: Speeds; lags: number[] } {
    const speeds = none();
    for (const name of Object.keys(speeds) as (keyof Counts)[]) {
      speeds[name] = Math.round((this.#counts[name] * 10_000) / Math.max(1, elapsedMs)) / 10;
      this.#counts[name] = 0;
    }
    return { speeds, lags: this.#lags.take() };
  }
}

export const NEVER_SWEPT: SweepPicture = {
  lastAtMs: null,
  lastQueued: 0,
  lastMovedAtMs: null,
  lastMoved: 0,
  runs: 0,
  failures: 0,
  queued: 0,
};

const none = (): Counts => ({
  delivered: 0,
  retried: 0,
  failed: 0,
  superseded: 0,
  fired: 0,
  skipped: 0,
  accepted: 0,
});
