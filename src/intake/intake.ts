// What comes in: committed to PostgreSQL first, then offered to Redis. The caller is told after the commit.

import type { MessageId } from '../domain/ids.js';
import type { Message } from '../domain/message.js';
import type { Acceptance, Submission } from '../postgres/messages/accepts.js';
import type { Schedule, ScheduleDefinition } from '../domain/schedule.js';
import type { BatchedSchedule, BatchResult } from '../postgres/schedules/schedule-batches.js';
export type { Acceptance, KeyClaim, Submission } from '../postgres/messages/accepts.js';

/** Work and changes from clients. All methods throw CarillonError POSTGRES_UNAVAILABLE when PostgreSQL is unavailable. */
export interface Intake {
  /** Accepts messages: each is committed with its keys, or found to be a duplicate. Same order as given. */
  accept(submissions: readonly Submission[]): Promise<Acceptance[]>;
  /**
   * Cancels pending messages of a tenant and returns which were: no call of them begins after that. One that had begun may still arrive.
   * Throws UnconfirmedCancelError when that cannot be promised for some of them; the same call again completes it.
   */
  cancel(tenantId: number, ids: readonly MessageId[]): Promise<MessageId[]>;
  /** Creates or replaces a schedule. An equal definition changes nothing. Throws INVALID_CRON when it can never fire. */
  saveSchedule(tenantId: number, id: string, definition: ScheduleDefinition): Promise<Schedule>;
  /**
   * Creates or replaces many schedules, one result for each in order; what one must not be refuses that one alone. When PostgreSQL becomes unavailable
   * meanwhile some are saved and some are not: the same call again completes it.
   */
  saveSchedules(tenantId: number, schedules: readonly ScheduleToSave[]): Promise<BatchResult[]>;
  /** Throws NOT_FOUND. Pausing what is paused (or resuming what runs) changes nothing. */
  pauseSchedule(tenantId: number, id: string): Promise<Schedule>;
  resumeSchedule(tenantId: number, id: string): Promise<Schedule>;
  /** False when there was none. Messages already produced stay. */
  deleteSchedule(tenantId: number, id: string): Promise<boolean>;
  /** A run by hand, now, off the grid. `depth`: of the request for it. Throws NOT_FOUND. */
  triggerSchedule(tenantId: number, id: string, depth?: number): Promise<MessageId>;
  /** Sends dead letters again as new messages and takes them off the list. Gives (dead letter, new message) pairs. */
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
