// A schedule: a recurring definition whose every edit raises its generation.

import type { DeliveryPolicy, Request } from './message.js';
import type { MisfirePolicy } from './misfire.js';
import type { OverlapPolicy } from './overlap.js';

/** `ended`: no occurrence is left before the schedule's end. */
export type ScheduleState = 'active' | 'paused' | 'ended';

/**
 * A client's definition of a schedule; two equal definitions are the same schedule, and an upsert of an equal one
 * changes nothing.
 */
export interface ScheduleDefinition extends Request, DeliveryPolicy {
  /** Verbatim, trimmed, with its CRON_TZ= prefix. */
  readonly cron: string;
  /** From Carillon-Time-Zone; null when the expression's prefix (or UTC) decides. */
  readonly timeZone: string | null;
  /** Delay of each produced message after its nominal time. */
  readonly delayMs: number;
  readonly misfire: MisfirePolicy;
  readonly misfireWindowMs: number;
  readonly overlap: OverlapPolicy;
  /** Spread window: each occurrence is due at nominal time + a fixed offset in [0, windowMs). */
  readonly windowMs: number;
  readonly startAtMs: number | null;
  readonly endAtMs: number | null;
  /** The anchor of `@every` in the definition; null means the creation, or the previous anchor. */
  readonly anchorMs: number | null;
  /** Template of the occurrences' idempotency keys. */
  readonly keyTemplate: string | null;
}

export interface Schedule extends ScheduleDefinition {
  readonly tenantId: number;
  readonly id: string;
  readonly shard: number;
  readonly generation: number;
  readonly state: ScheduleState;
  /** The anchor of `@every`: Carillon-Anchor, or the creation. */
  readonly anchorMs: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** Nominal time of the next occurrence; null when paused or ended. */
  readonly nextFireAtMs: number | null;
  /** Nominal time of the latest occurrence that was fired or skipped. */
  readonly lastFireAtMs: number | null;
  /** Why an active schedule cannot be fired; null or absent when it can. */
  readonly error?: string | null;
}
