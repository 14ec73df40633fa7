// What the API answers, as far as the page shows it. docs/api.md and /openapi.json tell the whole.

import type { DeadLetterShown } from '../../src/api/message-schemas.js';
import type { RunDetailShown, RunPageShown, RunShown } from '../../src/api/run-schemas.js';
import type { ScheduleShown } from '../../src/api/schedule-schema.js';

export type Run = RunShown;
export type RunDetail = RunDetailShown;
export type RunPage = RunPageShown;

export type RunState = Run['state'];
export const RUN_STATES: readonly RunState[] = ['pending', 'delivered', 'failed', 'canceled', 'skipped'];

export type HeaderMap = Readonly<Record<string, readonly string[]>>;

export type Schedule = ScheduleShown;
export type DeadLetter = DeadLetterShown;

export interface NextTime {
  /** ISO 8601. */
  readonly utc: string;
  /** ISO 8601 with the zone's offset. */
  readonly local: string;
  readonly dst: 'gap' | 'overlap' | null;
}

export interface NextTimes {
  readonly times: readonly NextTime[];
  readonly dayRule: 'or' | 'and' | null;
}
