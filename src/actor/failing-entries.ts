// Decides what happens to a claimed entry that cannot be processed: it must neither be retried for ever nor be lost.
//
// When a store is unavailable, the entry is not to blame and comes back. After any other error, a message becomes a
// dead letter; a schedule stays active, records the error, and is retried at growing intervals until somebody changes
// it. A CarillonError names the cause and counts at once; any other error may be transient, so the entry is tried a few
// times first.

import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import { parseScheduleEntry, type ScheduleKeyOfEntry } from '../redis/keys.js';
import type { Enqueuer } from '../redis/enqueuer.js';
import { isAboutValues, isStatementError } from '../postgres/database.js';
import type { Recorder } from '../postgres/messages/recorder.js';

/** How long an entry waits whose store is unavailable. */
const UNAVAILABLE_MS = 500;
const FIRST_RETRY_MS = 250;
/** Longest interval between two tries of a schedule that cannot be fired: a newer node may know its time zone. */
const MAX_RETRY_MS = 10 * 60_000;
/** Most entries whose failures are counted; each is soon finished or retried. */
const MAX_COUNTED = 10_000;

export class FailingEntries {
  readonly #recorder: Pick<Recorder, 'deadLetter' | 'noteScheduleError'>;
  readonly #enqueuer: Pick<Enqueuer, 'enqueue'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #mostTries: number;
  readonly #failures = new Map<string, number>();

  /** `mostTries`: how often an entry is tried whose error may be transient. */
  constructor(parts: {
    recorder: Pick<Recorder, 'deadLetter' | 'noteScheduleError'>;
    enqueuer: Pick<Enqueuer, 'enqueue'>;
    clock: Clock;
    log: Logger;
    mostTries: number;
  }) {
    this.#recorder = parts.recorder;
    this.#enqueuer = parts.enqueuer;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#mostTries = parts.mostTries;
  }

  /** Resolves with the time at which the entry comes back; null when it is finished. Does not reject. */
  async judge(entry: string, error: unknown): Promise<number | null> {
    if (isUnavailable(error)) return this.#backAtMs(UNAVAILABLE_MS);
    if (isStatementError(error) && !isAboutValues(error)) {
      this.#log.error(
        { err: error, entry },
        'claim could not be processed: PostgreSQL refuses the statement, whatever its values',
      );
      return this.#backAtMs(UNAVAILABLE_MS);
    }
    const failures = this.#count(entry);
    const retryMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
    if (!(error instanceof CarillonError) && failures < this.#mostTries) {
      if (failures === 1) this.#log.error({ err: error, entry }, 'claim could not be processed: it is retried');
      return this.#backAtMs(retryMs);
    }
    try {
      const schedule = parseScheduleEntry(entry);
      if (schedule === null) return await this.#deadLetter(entry, error);
      return await this.#retrySchedule(entry, schedule, error, retryMs);
    } catch (failure) {
      if (!isAboutValues(failure)) return this.#backAtMs(retryMs);
      this.forget(entry);
      this.#log.error(
        { err: failure, entry },
        'an entry in Redis names neither a message nor a schedule: it was removed',
      );
      return null;
    }
  }

  /** Called when the entry was processed. */
  forget(entry: string): void {
    if (this.#failures.size > 0) this.#failures.delete(entry);
  }

  #count(entry: string): number {
    const failures = (this.#failures.get(entry) ?? 0) + 1;
    if (this.#failures.size >= MAX_COUNTED) this.#failures.clear();
    this.#failures.set(entry, failures);
    return failures;
  }

  async #deadLetter(id: string, error: unknown): Promise<null> {
    const reason = `it cannot be sent: ${textOf(error)}`;
    const deadLettered = await this.#recorder.deadLetter(id, reason);
    this.forget(id);
    if (deadLettered === null) return null;
    const { tenantId, released } = deadLettered;
    for (const next of released)
      this.#enqueuer.enqueue(next.shard, { id: next.id, dueAtMs: next.dueAtMs, payload: '' });
    this.#log.error(
      { err: error, message: id, tenantId },
      'a message cannot be sent: it was moved to the dead letters',
    );
    return null;
  }

  async #retrySchedule(entry: string, key: ScheduleKeyOfEntry, error: unknown, retryMs: number): Promise<number> {
    const isNew = await this.#recorder.noteScheduleError(key, `it cannot be fired: ${textOf(error)}`);
    if (isNew) {
      const { tenantId, id: schedule } = key;
      this.#log.error(
        { err: error, schedule, tenantId },
        'a schedule cannot be fired: it is retried at growing intervals until it is changed',
      );
    }
    return this.#backAtMs(retryMs);
  }

  #backAtMs(inMs: number): number {
    return this.#clock.nowMs() + inMs;
  }
}

/**
 * Returns whether PostgreSQL or Redis is unavailable or this node is stopping. Others report these states; an entry
 * waits until they end.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof CarillonError)) return false;
  return ['POSTGRES_UNAVAILABLE', 'REDIS_UNAVAILABLE', 'SHUTTING_DOWN'].includes(error.code);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
