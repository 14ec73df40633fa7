// The group-commit recorder: everything that work passing through needs of the table, in multi-row statements.

import type { Clock } from '../../domain/clock.js';
import { CarillonError } from '../../domain/errors.js';
import type { MessageId } from '../../domain/ids.js';
import { type Acceptance, acceptGroup, type AcceptSettings, type Submission } from './accepts.js';
import { type ClaimedSchedule, readClaimedSchedules, type ScheduleKey } from '../schedules/claimed-schedules.js';
import { type Database, isAway } from '../database.js';
import { type Fire, type Fired, recordFires } from '../schedules/fires.js';
import { type GivenUp, giveUpMessage, noteScheduleError } from './give-up.js';
import { GroupCommit } from '../group-commit.js';
import { byId, type StoredMessage } from './message-columns.js';
import { withPartitions } from '../partitions.js';
import { bareOutcome, type Outcome, type OutcomeSettings, recordOutcomes, type Recorded } from './outcomes.js';

/** Most rows of one statement: large enough that a round trip costs little for each. */
const MAX_ROWS = 500;
/** Most bytes of bodies in one statement, since they travel as one text. */
const MAX_GROUP_BYTES = 8 * 1_024 * 1_024;
/** While one group waits for its commit, another can be sent. */
const MAX_GROUPS = 2;
/** Clients wait for these, and the table spends most of that time on waiting for its log. */
const MAX_ACCEPT_GROUPS = 4;
/**
 * Nobody waits for outcomes, but the queue and a moment later the next claim: they gather for so long, or until there are so many. A
 * statement costs the table as much as some tens of its rows.
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
  /** The connections that accepts go by; those of everything else when left out. */
  readonly accepts?: Database;
  /** Told when the table goes away and when it is back. */
  readonly onAvailability: (available: boolean, error?: unknown) => void;
  /** Told of an outcome that the table refused; it is recorded without what came back. */
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
  /** Pending while the table is away. */
  #away: Promise<void> | null = null;
  #stopped = false;
  /** When (by the process's time) something last came back from the table, and when nothing was there to be asked. */
  #answeredAtMs = performance.now();
  #isProbing = false;

  constructor(database: Database, clock: Clock, settings: RecorderSettings) {
    this.#database = database;
    this.#clock = clock;
    this.#settings = settings;
    const limits = { maxItems: MAX_ROWS, maxGroups: MAX_GROUPS, maxWeight: MAX_GROUP_BYTES };
    const acceptLimits = { ...limits, maxGroups: MAX_ACCEPT_GROUPS };
    const accepting = settings.accepts ?? database;
    // Nobody waits at the other end for these: fewer and larger groups cost the table less.
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
    this.#outcomes = new GroupCommit({ ...oneByOne, weigh: weightOfOutcome, gather: GATHER_OUTCOMES }, (group) =>
      this.#held('outcome', group, () => recordOutcomes(database, settings, group)),
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

  /** Commits submissions. Throws TABLE_UNAVAILABLE when the table is away; then it may or may not have been committed. */
  accept(submissions: readonly Submission[]): Promise<Acceptance[]> {
    return this.#accepts.addAll(submissions);
  }

  /**
   * Records an outcome. While the table is away it is held and recorded when the table is back; if the table refuses it, with less and
   * less of what came back, and in the end it is held as well: what was answered must not be sent again. Rejects after `stop` only.
   */
  async record(outcome: Outcome): Promise<Recorded> {
    const bare = bareOutcome(outcome);
    const forms = [outcome, { ...bare, callbacks: outcome.callbacks }, bare];
    for (let tries = 1; ; tries++) {
      try {
        return await this.#outcomes.add(forms[tries - 1] ?? bare);
      } catch (error) {
        if (isAway(error) || this.#stopped) throw error;
        this.#settings.onRefusal(error, outcome.message.id);
        if (tries >= forms.length) await pause(REFUSED_PAUSE_MS);
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
  giveUp(id: MessageId, reason: string): Promise<GivenUp | null> {
    const nowMs = this.#clock.nowMs();
    return giveUpMessage(this.#database, id, reason, { nowMs, keysUntilMs: nowMs + this.#settings.idempotencyMs });
  }

  /** Says on a schedule why it cannot be fired. True when that is news. */
  noteScheduleError(key: ScheduleKey, error: string): Promise<boolean> {
    return noteScheduleError(this.#database, key, error);
  }

  /** Resolves when the table answers; at once when nothing says that it does not. Actors wait for it before they claim. */
  available(): Promise<void> {
    return this.#away ?? Promise.resolve();
  }

  /**
   * Asks the table for a sign of life if nothing came back from it for `quietMs`, and takes it for away when none comes within `withinMs`:
   * a network that swallows packets says nothing, and statements are waited for much longer. Does not throw.
   */
  async probe(quietMs: number, withinMs: number): Promise<void> {
    const askedAtMs = performance.now();
    if (this.#away !== null || this.#isProbing || askedAtMs - this.#answeredAtMs < quietMs) return;
    this.#isProbing = true;
    try {
      await within(withinMs, isWritable(this.#database));
      this.#answeredAtMs = performance.now();
    } catch (error) {
      // A busy pool is no silence: its statements come back.
      if (isAway(error) && this.#answeredAtMs < askedAtMs) this.#noticeAway(error);
    } finally {
      this.#isProbing = false;
    }
  }

  get isAvailable(): boolean {
    return this.#away === null;
  }

  /** Items that are not committed, or not read, yet. Outcomes are held while the table is away. */
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

  async #held<Result>(kind: GroupKind, group: readonly unknown[], write: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await this.#watched(kind, group, write);
      } catch (error) {
        if (!isAway(error) || this.#stopped) throw error;
        await Promise.race([this.available(), pause(RETRY_EVERY_MS)]);
      }
    }
  }

  async #watched<Result>(kind: GroupKind, group: readonly unknown[], work: () => Promise<Result>): Promise<Result> {
    const startedAtMs = performance.now();
    try {
      const result = await work();
      this.#answeredAtMs = performance.now();
      this.#settings.onGroup?.(kind, group.length, performance.now() - startedAtMs);
      return result;
    } catch (error) {
      if (isAway(error)) this.#noticeAway(error);
      throw error;
    }
  }

  #noticeAway(error: unknown): void {
    if (this.#away !== null) return;
    this.#settings.onAvailability(false, error);
    this.#away = this.#untilBack();
  }

  async #untilBack(): Promise<void> {
    while (!this.#stopped) {
      await pause(RETRY_EVERY_MS);
      try {
        if (await within(BACK_ANSWER_MS, isWritable(this.#database))) break;
      } catch {
        // Still away.
      }
    }
    this.#away = null;
    this.#settings.onAvailability(true);
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

/** What was asked goes on, and its end is nobody's concern any more. */
async function within<Result>(durationMs: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = new CarillonError('TABLE_UNAVAILABLE', `PostgreSQL did not answer within ${durationMs} ms`);
    timer = setTimeout(() => reject(error), durationMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
