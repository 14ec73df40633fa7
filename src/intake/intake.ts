// The intake of work and changes from clients: committed to PostgreSQL first, then enqueued in Redis. The caller gets
// its answer after the commit.

import type { MessageId } from '../domain/ids.js';
import type { Message } from '../domain/message.js';
import type { Acceptance, Submission } from '../postgres/messages/accepts.js';
import type { Schedule, ScheduleDefinition } from '../domain/schedule.js';
import type { BatchedSchedule, BatchResult } from '../postgres/schedules/schedule-batches.js';
export type { Acceptance, KeyClaim, Submission } from '../postgres/messages/accepts.js';

/**
 * Accepts work and changes from clients. All methods throw CarillonError POSTGRES_UNAVAILABLE when PostgreSQL is
 * unavailable.
 */
export interface Intake {
  /** Accepts messages: each is committed with its keys, or found to be a duplicate. Returns them in the given order. */
  accept(submissions: readonly Submission[]): Promise<Acceptance[]>;
  /**
   * Cancels pending messages of a tenant and returns the canceled ones: no call of them starts afterwards. A call that
   * had started may still arrive. Throws UnconfirmedCancelError when some cancels could not be confirmed; repeating the
   * call completes it.
   */
  cancel(tenantId: number, ids: readonly MessageId[]): Promise<MessageId[]>;
  /**
   * Creates or replaces a schedule. An equal definition changes nothing. Throws INVALID_CRON when it can never fire.
   */
  saveSchedule(tenantId: number, id: string, definition: ScheduleDefinition): Promise<Schedule>;
  /**
   * Creates or replaces many schedules and returns one result for each, in order; an invalid one is refused alone. When
   * PostgreSQL becomes unavailable meanwhile, some are saved and some are not: repeating the call completes it.
   */
  saveSchedules(tenantId: number, schedules: readonly ScheduleToSave[]): Promise<BatchResult[]>;
  /** Pauses a schedule. Throws NOT_FOUND. Pausing a paused schedule (or resuming an active one) changes nothing. */
  pauseSchedule(tenantId: number, id: string): Promise<Schedule>;
  resumeSchedule(tenantId: number, id: string): Promise<Schedule>;
  /** Deletes a schedule; returns false when there was none. Messages already produced stay. */
  deleteSchedule(tenantId: number, id: string): Promise<boolean>;
  /** Triggers a run now, in addition to the schedule's times. `depth` is the depth of the request. Throws NOT_FOUND. */
  triggerSchedule(tenantId: number, id: string, depth?: number): Promise<MessageId>;
  /**
   * Sends dead letters again as new messages and removes them from the dead letters. Returns pairs of dead letter and
   * new message.
   */
  retryDeadLetters(
    tenantId: number,
    retries: readonly DeadLetterRetry[],
  ): Promise<{ from: MessageId; to: MessageId }[]>;
}

/** A schedule of a batch; its shard follows from its id. */
export type ScheduleToSave = Omit<BatchedSchedule, 'shard'>;

/** A dead letter to send again: the new message is `message` (kind `dlq-retry`, sourceId the dead letter). */
export interface DeadLetterRetry {
  readonly from: MessageId;
  readonly message: Message;
}
