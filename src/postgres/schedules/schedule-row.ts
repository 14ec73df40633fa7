// A row of `schedules` and the schedule it stands for.

import type { HeaderMap } from '../../domain/message.js';
import type { MisfirePolicy } from '../../domain/misfire.js';
import type { OverlapPolicy } from '../../domain/overlap.js';
import type { Schedule, ScheduleState } from '../../domain/schedule.js';
import { fromDeliveryOptions, type DeliveryOptions } from '../messages/delivery-options.js';

/** The columns of `schedules` that a statement must give for `scheduleFromRow`; times arrive as epoch milliseconds. */
export interface ScheduleRow {
  readonly tenant_id: number;
  readonly id: string;
  readonly shard: number;
  readonly generation: number;
  readonly state: ScheduleState;
  readonly cron: string;
  readonly time_zone: string | null;
  readonly anchor_at: number;
  readonly destination: string;
  readonly method: string;
  readonly headers: HeaderMap;
  readonly body: Buffer;
  readonly max_retries: number;
  readonly timeout_ms: number;
  readonly labels: string[];
  readonly options: DeliveryOptions;
  readonly delay_ms: number;
  readonly misfire: MisfirePolicy;
  readonly misfire_window_ms: number;
  readonly overlap: OverlapPolicy;
  readonly window_ms: number;
  readonly start_at: number | null;
  readonly end_at: number | null;
  readonly key_template: string | null;
  readonly next_fire_at: number | null;
  readonly last_fire_at: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly error: string | null;
}

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
