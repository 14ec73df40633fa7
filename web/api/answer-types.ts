// What the API answers, as far as the page shows it. docs/api.md and /openapi.json tell the whole.

import type { RunDetailShown, RunPageShown, RunShown } from '../../src/api/run-schemas.js';

export type Run = RunShown;
export type RunDetail = RunDetailShown;
export type RunPage = RunPageShown;

export type RunState = Run['state'];
export const RUN_STATES: readonly RunState[] = ['pending', 'delivered', 'failed', 'canceled', 'skipped'];

export type HeaderMap = Readonly<Record<string, readonly string[]>>;

export interface Schedule {
  readonly scheduleId: string;
  readonly cron: string;
  readonly timeZone?: string;
  readonly destination: string;
  /** Epoch ms, as all numbers that are times here. */
  readonly createdAt: number;
  readonly method: string;
  readonly header: HeaderMap;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly retries: number;
  /** Seconds. */
  readonly delay?: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly retryDelayExpression?: string;
  readonly callback?: string;
  readonly failureCallback?: string;
  readonly labels?: readonly string[];
  readonly lastScheduleTime?: number;
  readonly nextScheduleTime?: number;
  readonly lastScheduleStates?: Readonly<Record<string, 'IN_PROGRESS' | 'SUCCESS' | 'FAIL'>>;
  readonly state: 'active' | 'paused' | 'ended';
  readonly generation: number;
  readonly misfire: 'skip' | 'once' | 'all';
  /** Milliseconds, as `window`. */
  readonly misfireWindow?: number;
  readonly overlap: 'allow' | 'skip' | 'queue';
  readonly window?: number;
  readonly start?: number;
  readonly end?: number;
  readonly idempotencyKey?: string;
  /** What is shown as a hash in place of itself: body, header, header[Name]. */
  readonly redact?: string;
}

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

export interface DeadLetter {
  readonly dlqId: string;
  readonly messageId: string;
  readonly url: string;
  readonly method: string;
  readonly createdAt: number;
  readonly notBefore: number;
  readonly scheduleId?: string;
  readonly labels?: readonly string[];
  readonly responseStatus: number;
  readonly responseBody?: string;
  readonly responseError?: string;
}
