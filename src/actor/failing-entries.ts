// What becomes of an entry that was claimed and cannot be worked on: it must neither circle for ever nor vanish.
//
// A store that is unavailable is no fault of the entry: it comes back. Anything else is: a message ends as a dead letter, a schedule stays as
// it is, says what is wrong with it, and is tried again more and more rarely, until somebody changes it. Errors that name the fault
// (CarillonError) are believed at once; any other may pass, and is tried a few times.

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
/** A schedule that cannot be fired is tried again so often at the least: a newer node may know its time zone. */
const MAX_RETRY_MS = 10 * 60_000;
/** Entries whose faults are counted; each is soon done with, or tried again by and by. */
const MAX_COUNTED = 10_000;

export class FailingEntries {
  readonly #recorder: Pick<Recorder, 'deadLetter' | 'noteScheduleError'>;
  readonly #enqueuer: Pick<Enqueuer, 'enqueue'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #mostTries: number;
  readonly #failures = new Map<string, number>();

  /** `mostTries`: so often an entry is tried whose fault may pass. */
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

  /** Resolves with when the entry comes back; null when it is done with. Does not reject. */
  async judge(entry: string, error: unknown): Promise<number | null> {
    if (isUnavailable(error)) return this.#backAtMs(UNAVAILABLE_MS);
    if (isStatementError(error) && !isAboutValues(error)) {
      this.#log.error(
        { err: error, entry },
        'work on a claim failed: PostgreSQL refuses the statement, whatever its values',
      );
      return this.#backAtMs(UNAVAILABLE_MS);
    }
    const failures = this.#count(entry);
    const retryMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
    if (!(error instanceof CarillonError) && failures < this.#mostTries) {
      if (failures === 1) this.#log.error({ err: error, entry }, 'work on a claim failed: it is tried again');
      return this.#backAtMs(retryMs);
    }
    try {
      const schedule = parseScheduleEntry(entry);
      if (schedule === null) return await this.#giveUp(entry, error);
      return await this.#standStill(entry, schedule, error, retryMs);
    } catch (failure) {
      if (!isAboutValues(failure)) return this.#backAtMs(retryMs);
      this.forget(entry);
      this.#log.error({ err: failure, entry }, 'an entry in Redis names no work that could exist: it was removed');
      return null;
    }
  }

  /** The entry was worked on. */
  forget(entry: string): void {
    if (this.#failures.size > 0) this.#failures.delete(entry);
  }

  #count(entry: string): number {
    const failures = (this.#failures.get(entry) ?? 0) + 1;
    if (this.#failures.size >= MAX_COUNTED) this.#failures.clear();
    this.#failures.set(entry, failures);
    return failures;
  }

  async #giveUp(id: string, error: unknown): Promise<null> {
    const reason = `it cannot be sent: ${textOf(error)}`;
    const gaveUp = await this.#recorder.deadLetter(id, reason);
    this.forget(id);
    if (gaveUp === null) return null;
    const { tenantId, released } = gaveUp;
    for (const next of released)
      this.#enqueuer.enqueue(next.shard, { id: next.id, dueAtMs: next.dueAtMs, payload: '' });
    this.#log.error({ err: error, message: id, tenantId }, 'a message cannot be sent: it is a dead letter');
    return null;
  }

  async #standStill(entry: string, key: ScheduleKeyOfEntry, error: unknown, retryMs: number): Promise<number> {
    const isNew = await this.#recorder.noteScheduleError(key, `it cannot be fired: ${textOf(error)}`);
    if (isNew) {
      const { tenantId, id: schedule } = key;
      this.#log.error({ err: error, schedule, tenantId }, 'a schedule cannot be fired: it waits until it is changed');
    }
    return this.#backAtMs(retryMs);
  }

  #backAtMs(inMs: number): number {
    return this.#clock.nowMs() + inMs;
  }
}

/** PostgreSQL or Redis is unavailable, or this node is stopping: known to those who watch them, and to be waited out. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof CarillonError)) return false;
  return ['POSTGRES_UNAVAILABLE', 'REDIS_UNAVAILABLE', 'SHUTTING_DOWN'].includes(error.code);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
