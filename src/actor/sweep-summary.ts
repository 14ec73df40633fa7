// Summarizes the sweeps of a node in one log line: hundreds of shards that are swept every minute would fill the log.

import type { Logger } from 'pino';
import type { Cancel, ProcessTime } from '../domain/clock.js';

export type SweepName = 'promote' | 'rescue';
/** `fenced`: interrupted by a newer epoch. `failed`: a store was unavailable, or an unexpected error. */
export type SweepResult = 'done' | 'fenced' | 'failed';

/** A sweep of one shard that ended. */
export interface SweepEnd {
  readonly sweep: SweepName;
  readonly result: SweepResult;
  readonly queued: number;
  readonly read: number;
  readonly durationMs: number;
  /** By how much Redis had fallen behind the horizon of the sweep. */
  readonly behindMs: number;
}

/** Minimum interval between two lines for each kind of sweep. */
const LOG_EVERY_MS = 60_000;

interface Pass {
  shards: number;
  queued: number;
  read: number;
  fenced: number;
  failed: number;
  durationMs: number;
  longestMs: number;
  behindMs: number;
}

export class SweepSummary {
  readonly #log: Logger;
  readonly #logEveryMs: number;
  readonly #passes = new Map<SweepName, Pass>();
  readonly #time: ProcessTime;
  #cancelLog: Cancel | null = null;

  constructor(log: Logger, time: ProcessTime, logEveryMs = LOG_EVERY_MS) {
    this.#log = log;
    this.#time = time;
    this.#logEveryMs = logEveryMs;
  }

  add({ sweep, result, queued, read, durationMs, behindMs }: SweepEnd): void {
    const pass = this.#passes.get(sweep) ?? {
      ...{ shards: 0, queued: 0, read: 0, fenced: 0, failed: 0, durationMs: 0, longestMs: 0, behindMs: 0 },
    };
    pass.shards += 1;
    pass.queued += queued;
    pass.read += read;
    if (result !== 'done') pass[result] += 1;
    pass.durationMs += durationMs;
    pass.longestMs = Math.max(pass.longestMs, durationMs);
    pass.behindMs = Math.max(pass.behindMs, behindMs);
    this.#passes.set(sweep, pass);
    this.#cancelLog ??= this.#time.after(this.#logEveryMs, () => this.log());
  }

  /** Logs at once the sweeps that ended since the last line. */
  log(): void {
    this.#cancelLog?.();
    this.#cancelLog = null;
    for (const [sweep, { durationMs, longestMs, behindMs, ...counts }] of this.#passes) {
      const fields = {
        sweep,
        ...counts,
        durationMs: Math.round(durationMs),
        longestMs: Math.round(longestMs),
        behindMs: Math.round(behindMs),
      };
      // Most passes find nothing to do.
      if (counts.queued > 0 || counts.failed > 0) this.#log.info(fields, 'swept');
      else this.#log.debug(fields, 'swept');
    }
    this.#passes.clear();
  }
}
