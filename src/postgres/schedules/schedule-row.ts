// A row of `schedules` and the schedule it stands for.

import type { Schedule } from '../../domain/schedule.js';
import type { Row } from '../database.js';
import { fromDeliveryOptions } from '../messages/delivery-options.js';

/** The columns of `schedules` that a statement must give for `scheduleFromRow`; times arrive as epoch milliseconds. */
export type ScheduleRow = Row<'select-schedule'>;

export function scheduleFromRow(row: ScheduleRow): Schedule {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    shard: row.shard,
    generation: row.generation,
    state: row.state,
    cron: row.cron,
    timeZone: row.time_zone,
    anchorMs: row.anchor_at,
    destination: row.destination,
    method: row.method,
    headers: row.headers,
    body: row.body,
    maxRetries: row.max_retries,
    timeoutMs: row.timeout_ms,
    labels: row.labels,
    ...fromDeliveryOptions(row.options),
    delayMs: row.delay_ms,
    misfire: row.misfire,
    misfireWindowMs: row.misfire_window_ms,
    overlap: row.overlap,
    windowMs: row.window_ms,
    startAtMs: row.start_at,
    endAtMs: row.end_at,
    keyTemplate: row.key_template,
    nextFireAtMs: row.next_fire_at,
    lastFireAtMs: row.last_fire_at,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
    error: row.error,
  };
}
