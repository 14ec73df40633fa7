// The facts about a schedule around a moment that `explain` uses.

import type { MessageId } from './ids.js';
import type { AttemptRecord, Run } from './run.js';
import type { Schedule } from './schedule.js';

export interface ScheduleChange {
  readonly atMs: number;
  readonly generation: number;
  readonly change: 'created' | 'edited' | 'paused' | 'resumed' | 'deleted' | 'ended';
  /** The expression from then on; null when the log does not have it. */
  readonly cron: string | null;
  readonly timeZone: string | null;
}

/** The record of an occurrence. */
export interface OccurrenceRecord extends Omit<
  Run,
  | ('kind' | 'scheduleId' | 'idempotencyKey' | 'sourceId' | 'labels')
  | ('destination' | 'method' | 'lastHeaders' | 'lastBody')
> {
  /** Whether it waits for the occurrence before it. */
  readonly isHeld: boolean;
}

export type FailedAttempt = Pick<AttemptRecord, 'attempt' | 'startedAtMs' | 'endedAtMs' | 'status' | 'error'>;

export interface ShardGrant {
  readonly shard: number;
  readonly epoch: number;
  /** The process to which it was granted last. */
  readonly node: string | null;
  readonly grantedAtMs: number | null;
}

export interface ExplainFacts {
  /** The moment to explain. */
  readonly atMs: number;
  readonly nowMs: number;
  /** Null when it is deleted. */
  readonly schedule: Schedule | null;
  /** The oldest first, as far back as they are stored. */
  readonly changes: readonly ScheduleChange[];
  readonly record: OccurrenceRecord | null;
  readonly attempts: readonly FailedAttempt[];
  readonly before: OccurrenceRecord | null;
  /** Of the schedule's shard. */
  readonly shard: ShardGrant | null;
  /** How long records are kept. */
  readonly retentionMs: number;
  readonly misfireGraceMs: number;
}

/** A fact and what it shows. */
export interface Evidence {
  /** Null when it has no single moment. */
  readonly atMs: number | null;
  readonly text: string;
}

/** One word for programs; the text is for people. */
export type Verdict =
  | 'ran' // delivered, on time
  | 'ran-late' // delivered, a second or more after it was due
  | 'due' // its time has come, and it was not sent yet (or its answer is not known yet)
  | 'retrying' // failed so far, and will be tried again
  | 'failed' // all attempts failed
  | 'canceled'
  | 'skipped' // by misfire or overlap policy, or because its key was taken
  | 'waiting' // for the occurrence before it
  | 'will-run' // in the future
  | 'paused'
  | 'not-created-yet'
  | 'deleted'
  | 'out-of-bounds' // before the start or after the end of the schedule
  | 'not-a-time' // the expression does not name it
  | 'unknown'; // no record, or none any more

export interface Explanation {
  readonly verdict: Verdict;
  /** A sentence or two. */
  readonly text: string;
  /** The nominal time at the moment; null when there is none. */
  readonly nominalAtMs: number | null;
  readonly messageId: MessageId | null;
  /** The nearest nominal times before and after the moment, by the expression that was in force. */
  readonly beforeAtMs: number | null;
  readonly afterAtMs: number | null;
  /** In chronological order, as far as each has a time. */
  readonly evidence: readonly Evidence[];
}
