// The group-commit recorder: everything that work passing through needs of PostgreSQL, in multi-row statements.

import type { Clock, ProcessTime } from '../../domain/clock.js';
import { CarillonError } from '../../domain/errors.js';
import type { MessageId } from '../../domain/ids.js';
import { type Acceptance, acceptGroup, type AcceptSettings, type Submission } from './accepts.js';
import { type ClaimedSchedule, readClaimedSchedules, type ScheduleKey } from '../schedules/claimed-schedules.js';
import { type Database, isUnavailable } from '../database.js';
import { type Fire, type Fired, recordFires } from '../schedules/fires.js';
import { type DeadLettered, deadLetterMessage, noteScheduleError } from './dead-letter-message.js';
import { GroupCommit } from '../group-commit.js';
import { byId, type StoredMessage } from './message-columns.js';
import { withPartitions } from '../partitions.js';
import { bareOutcome, type Outcome, type OutcomeSettings, recordOutcomes, type Recorded } from './outcomes.js';
import { pause, within } from '../../time/waiting.js';

/** Most rows of one statement: large enough that a round trip costs little for each. */
const MAX_ROWS = 500;
/** Most bytes of bodies in one statement, since they travel as one text. */
const MAX_GROUP_BYTES = 8 * 1_024 * 1_024;
/** While one group waits for its commit, another can be sent. */
const MAX_GROUPS = 2;
/** Clients wait for these, and PostgreSQL spends most of that time on waiting for its log. */
const MAX_ACCEPT_GROUPS = 4;
/**
 * Nobody waits for outcomes, but Redis and a moment later the next claim: they gather for so long, or until there are so many. A
 * statement costs PostgreSQL as much as some tens of its rows.
 */
const GATHER_OUTCOMES = { forMs: 20, items: 100 } as const;
const RETRY_EVERY_MS = 250;
/** A table that is back answers within this; a connection that is dead is not waited for. */
const BACK_ANSWER_MS = 1_000;
const REFUSED_PAUSE_MS = 5_000;

export type { ClaimedSchedule, ScheduleKey } from '../schedules/claimed-schedules.js';

/** What is gathered into groups: writes, and reads of the rows behind claims. */
export type GroupKind = 'accept' | 'outcome' | 'fire' | 'message' | 'schedule';

export interface RecorderSettings extends AcceptSettings, OutcomeSettings {
  readonly time: ProcessTime;
  /** The connections that accepts go by; those of everything else when left out. */
  readonly accepts?: Database;
  /** Told when PostgreSQL becomes unavailable and when it is back. */
  readonly onAvailability: (available: boolean, error?: unknown) => void;
  /** Told of an outcome that PostgreSQL refused; it is recorded without what came back. */
  readonly onRefusal: (error: unknown, id: MessageId) => void;
  /** Counts a group that was committed (or read), with how long that took. */
  readonly onGroup?: (kind: GroupKind, items: number, durationMs: number) => void;
}

export class Recorder {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #settings: RecorderSettings;
  readonly #accepts: GroupCommit<Submission, Acceptance>;
  readonly #outcomes: GroupCommit<Outcome, Recorded>;
  readonly #fires: GroupCommit<Fire, Fired>;
  readonly #messages: GroupCommit<MessageId, StoredMessage | null>;
  readonly #schedules: GroupCommit<ScheduleKey, ClaimedSchedule | null>;
  /** Pending while PostgreSQL is unavailable. */
  #unavailable: Promise<void> | null = null;
  #stopped = false;
  /** When (by the process's time) something last came back from PostgreSQL, and when nothing was there to be asked. */
  #answeredAtMs: number;
  readonly #time: ProcessTime;
  #isProbing = false;

  constructor(database: Database, clock: Clock, settings: RecorderSettings) {
    this.#database = database;
    this.#clock = clock;
    this.#settings = settings;
    const { time } = settings;
    this.#time = time;
    this.#answeredAtMs = time.monotonicMs();
    const limits = { maxItems: MAX_ROWS, maxGroups: MAX_GROUPS, maxWeight: MAX_GROUP_BYTES };
    const acceptLimits = { ...limits, maxGroups: MAX_ACCEPT_GROUPS };
    const accepting = settings.accepts ?? database;
    // Nobody waits at the other end for these: fewer and larger groups cost PostgreSQL less.
    const oneByOne = { ...limits, maxGroups: 1 };
    this.#accepts = new GroupCommit({ ...acceptLimits, weigh: ({ message }) => message.body.length }, (group) =>
      this.#watched('accept', group, () =>
        withPartitions(
          accepting,
          group.map(({ message }) => message.dueAtMs),
          () => acceptGroup(accepting, settings, clock.nowMs(), group),
        ),
      ),
    );
    this.#outcomes = new GroupCommit(
      { ...oneByOne, weigh: weightOfOutcome, gather: { time, ...GATHER_OUTCOMES } },
      (group) => this.#unrecorded('outcome', group, () => recordOutcomes(database, settings, group)),
    );
    this.#fires = new GroupCommit({ ...oneByOne, weigh: weightOfFire }, (group) =>
      this.#watched('fire', group, () =>
        withPartitions(
          database,
          group.flatMap(({ occurrences }) => occurrences.map(({ message }) => message.dueAtMs)),
          () => recordFires(database, clock.nowMs(), group),
        ),
      ),
    );
    this.#messages = new GroupCommit(limits, (group) =>
      this.#watched('message', group, () => this.#readMessages(group)),
    );
    this.#schedules = new GroupCommit(limits, (group) =>
      this.#watched('schedule', group, () => readClaimedSchedules(database, clock.nowMs(), group)),
    );
  }

  /** Commits submissions. Throws POSTGRES_UNAVAILABLE when PostgreSQL is unavailable; then it may or may not have been committed. */
  accept(submissions: readonly Submission[]): Promise<Acceptance[]> {
    return this.#accepts.addAll(submissions);
  }

  /**
   * Records an outcome. While PostgreSQL is unavailable it is held and recorded when PostgreSQL is back; if PostgreSQL refuses it, with less and
   * less of what came back, and in the end it is held as well: what was answered must not be sent again. Rejects after `stop` only.
   */
  async record(outcome: Outcome): Promise<Recorded> {
    const bare = bareOutcome(outcome);
    const forms = [outcome, { ...bare, callbacks: outcome.callbacks }, bare];
    for (let tries = 1; ; tries++) {
      try {
        return await this.#outcomes.add(forms[tries - 1] ?? bare);
      } catch (error) {
        if (isUnavailable(error) || this.#stopped) throw error;
        this.#settings.onRefusal(error, outcome.message.id);
        if (tries >= forms.length) await pause(this.#time, REFUSED_PAUSE_MS);
      }
    }
  }

  /** Records a schedule's occurrences and advances it, fenced by its shard's epoch. */
  fire(fire: Fire): Promise<Fired> {
    return this.#fires.add(fire);
  }

  /** Null when there is no such message. */
  readMessage(id: MessageId): Promise<StoredMessage | null> {
    return this.#messages.add(id);
  }

  /** Null when there is no such schedule. */
  readSchedule(key: ScheduleKey): Promise<ClaimedSchedule | null> {
    return this.#schedules.add(key);
  }

  /** Makes a pending message a dead letter that was not attempted. Null when there is none to be given up. */
  deadLetter(id: MessageId, reason: string): Promise<DeadLettered | null> {
    const nowMs = this.#clock.nowMs();
    return deadLetterMessage(this.#database, id, reason, { nowMs, keysUntilMs: nowMs + this.#settings.idempotencyMs });
  }

  /** Says on a schedule why it cannot be fired. True when that is news. */
  noteScheduleError(key: ScheduleKey, error: string): Promise<boolean> {
    return noteScheduleError(this.#database, key, error);
  }

  /** Resolves when PostgreSQL answers; at once when nothing says that it does not. Actors wait for it before they claim. */
  available(): Promise<void> {
    return this.#unavailable ?? Promise.resolve();
  }

  /**
   * Asks PostgreSQL for a sign of life if nothing came back from it for `quietMs`, and takes it for away when none comes within `withinMs`:
   * a network that swallows packets says nothing, and statements are waited for much longer. Does not throw.
   */
  async probe(quietMs: number, withinMs: number): Promise<void> {
    const askedAtMs = this.#time.monotonicMs();
    if (this.#unavailable !== null || this.#isProbing || askedAtMs - this.#answeredAtMs < quietMs) return;
    this.#isProbing = true;
    try {
      await this.#isWritableWithin(withinMs);
      this.#answeredAtMs = this.#time.monotonicMs();
    } catch (error) {
      // A busy pool is no silence: its statements come back.
      if (isUnavailable(error) && this.#answeredAtMs < askedAtMs) this.#noteUnavailable(error);
    } finally {
      this.#isProbing = false;
    }
  }

  get isAvailable(): boolean {
    return this.#unavailable === null;
  }

  /** Items that are not committed, or not read, yet. Outcomes are held while PostgreSQL is unavailable. */
  backlog(kind: GroupKind): number {
    const groups = {
      accept: this.#accepts,
      outcome: this.#outcomes,
      fire: this.#fires,
      message: this.#messages,
      schedule: this.#schedules,
    };
    return groups[kind].underWay;
  }

  /** Stops holding outcomes: what cannot be recorded now is left to the next owner. */
  stop(): void {
    this.#stopped = true;
  }

  async #unrecorded<Result>(kind: GroupKind, group: readonly unknown[], write: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await this.#watched(kind, group, write);
      } catch (error) {
        if (!isUnavailable(error) || this.#stopped) throw error;
        await Promise.race([this.available(), pause(this.#time, RETRY_EVERY_MS)]);
      }
    }
  }

  async #watched<Result>(kind: GroupKind, group: readonly unknown[], work: () => Promise<Result>): Promise<Result> {
    const startedAtMs = this.#time.monotonicMs();
    try {
      const result = await work();
      this.#answeredAtMs = this.#time.monotonicMs();
      this.#settings.onGroup?.(kind, group.length, this.#time.monotonicMs() - startedAtMs);
      return result;
    } catch (error) {
      if (isUnavailable(error)) this.#noteUnavailable(error);
      throw error;
    }
  }

  #noteUnavailable(error: unknown): void {
    if (this.#unavailable !== null) return;
    this.#settings.onAvailability(false, error);
    this.#unavailable = this.#untilBack();
  }

  async #untilBack(): Promise<void> {
    while (!this.#stopped) {
      await pause(this.#time, RETRY_EVERY_MS);
      try {
        if (await this.#isWritableWithin(BACK_ANSWER_MS)) break;
      } catch {
        // Still away.
      }
    }
    this.#unavailable = null;
    this.#settings.onAvailability(true);
  }

  #isWritableWithin(durationMs: number): Promise<boolean> {
    const late = (): Error =>
      new CarillonError('POSTGRES_UNAVAILABLE', `PostgreSQL did not answer within ${durationMs} ms`);
    return within(this.#time, durationMs, isWritable(this.#database), late);
  }

  async #readMessages(ids: MessageId[]): Promise<(StoredMessage | null)[]> {
    const rows = byId(await this.#database.run('select-dispatch', { ids }));
    return ids.map((id) => rows.get(id) ?? null);
  }
}

function weightOfOutcome({ body, callbacks }: Outcome): number {
  return (body?.length ?? 0) + callbacks.reduce((sum, callback) => sum + callback.body.length, 0);
}

function weightOfFire({ occurrences }: Fire): number {
  return occurrences.reduce((sum, { message }) => sum + message.body.length, 0);
}

/** A server that was demoted, or whose disk is full, answers and takes no writes. */
async function isWritable(database: Database): Promise<boolean> {
  const [row] = await database.run('select-writability');
  return row?.read_only === 'off';
}
