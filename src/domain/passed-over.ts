// Records occurrences that were due and not fired yet when their schedule was edited, paused or deleted.
//
// After the change nothing is sent by the old definition, whatever the misfire policy: its due occurrences are recorded
// as skipped, with the change as the reason. An edit that leaves the calendar unchanged passes over nothing, since the
// schedule continues from the same time.

import { CarillonError } from './errors.js';
import { MAX_SKIPPED_ROWS, planPassedOver } from './misfire.js';
import { type ChangeReason, occurrenceMessage, type PlannedMessage } from './occurrence.js';
import { expressionOf, type NextState } from './schedule-change.js';
import type { Schedule } from './schedule.js';

/**
 * Each row contains the schedule's body; the rows of one change, or of one group of changes, contain about this much of
 * it.
 */
const BODY_BYTES_MAX = 4 * 2 ** 20;
/**
 * Most rows of one group of changes, shared by its schedules. A schedule that is changed alone has up to
 * MAX_SKIPPED_ROWS.
 */
const GROUP_ROWS_MAX = 2_000;

/**
 * Returns the skipped occurrences of a schedule that is changed at `nowMs`; `next` is its state after the change, null
 * when it is deleted. Returns at most MAX_SKIPPED_ROWS and one that stands for the older ones, fewer for a schedule
 * that is one of `changedTogether`.
 */
export function passedOver(
  schedule: Schedule,
  next: NextState | null,
  nowMs: number,
  changedTogether = 1,
): PlannedMessage[] {
  const { state, nextFireAtMs } = schedule;
  if (state !== 'active' || nextFireAtMs === null || nextFireAtMs > nowMs) return [];
  if (next?.nextFireAtMs === nextFireAtMs) return [];
  const change: ChangeReason = next === null ? 'deleted' : next.state === 'paused' ? 'paused' : 'edited';
  const maxRows = Math.min(
    MAX_SKIPPED_ROWS,
    Math.floor(GROUP_ROWS_MAX / changedTogether),
    Math.floor(BODY_BYTES_MAX / changedTogether / Math.max(1, schedule.body.length)),
  );
  try {
    const rows = planPassedOver({
      ...{ expression: expressionOf(schedule), anchorMs: schedule.anchorMs, nextFireAtMs, nowMs },
      ...{ startAtMs: schedule.startAtMs, endAtMs: schedule.endAtMs, maxRows: Math.max(1, maxRows) },
    });
    return rows.map(({ atMs, coversUntilMs }) => ({
      message: occurrenceMessage(schedule, atMs, nowMs),
      held: false,
      skipped: { reason: change, coversUntilMs },
    }));
  } catch (error) {
    // A schedule whose expression cannot be parsed must remain editable and deletable; its times are unknown.
    if (error instanceof CarillonError) return [];
    throw error;
  }
}
