// What is known about a schedule around a moment, as far as `explain` looks at it.

import type { MessageId } from './ids.js';
import type { AttemptRecord, Run } from './run.js';
import type { Schedule } from './schedule.js';

export interface ScheduleChange {
  readonly atMs: number;
  readonly generation: number;
  readonly change: 'created' | 'edited' | 'paused' | 'resumed' | 'deleted' | 'ended';
  /** The expression from then on; null where the log does not have it. */
  readonly cron: string | null;
  readonly timeZone: string | null;
}

/** The record of an occurrence. */
export interface OccurrenceRecord extends Omit<
  Run,
  | ('kind' | 'scheduleId' | 'idempotencyKey' | 'sourceId' | 'labels')
  | ('destination' | 'method' | 'lastHeaders' | 'lastBody')
> {
  /** It waits for the one before. */
  readonly isHeld: boolean;
}

export type FailedAttempt = Pick<AttemptRecord, 'attempt' | 'startedAtMs' | 'endedAtMs' | 'status' | 'error'>;

export interface ShardGrant {
  readonly shard: number;
  readonly epoch: number;
  /** The process that it was granted to last. */
  readonly node: string | null;
  readonly grantedAtMs: number | null;
}

export interface ExplainFacts {
  /** The moment that is asked about. */
  readonly atMs: number;
  readonly nowMs: number;
  /** Null when it is deleted. */
  readonly schedule: Schedule | null;
  /** The oldest first, as far back as they are kept. */
  readonly changes: readonly ScheduleChange[];
  readonly record: OccurrenceRecord | null;
  readonly attempts: readonly FailedAttempt[];
  readonly before: OccurrenceRecord | null;
  /** Of the schedule's shard. */
  readonly shard: ShardGrant | null;
  /** Records are kept for so long. */
  readonly retentionMs: number;
  readonly misfireGraceMs: number;
}

/** Something that was looked at, and what it shows. */
export interface Evidence {
  /** Null where it is of no one moment. */
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
  /** The nominal time that the moment is about; null when there is none. */
  readonly nominalAtMs: number | null;
  readonly messageId: MessageId | null;
  /** The nearest nominal times before and after the moment, of the expression that was in force. */
  readonly beforeAtMs: number | null;
  readonly afterAtMs: number | null;
  /** In the order of time, as far as each has one. */
  readonly evidence: readonly Evidence[];
}
