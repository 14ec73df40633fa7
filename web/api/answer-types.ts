// What the API answers, as far as the page shows it. docs/api.md and /openapi.json tell the whole.

export type RunState = 'pending' | 'delivered' | 'failed' | 'canceled' | 'skipped';
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

export interface AnswerShown {
  readonly headers?: HeaderMap;
  readonly body?: string;
  readonly bodyBase64?: string;
}

/** Times are ISO 8601. */
export interface Run {
  readonly messageId: string;
  readonly kind: 'message' | 'occurrence' | 'manual' | 'callback' | 'failure-callback' | 'dlq-retry';
  readonly state: RunState;
  readonly reason?: string;
  readonly scheduleId?: string;
  readonly occurrence?: string;
  readonly coversUntil?: string;
  readonly key?: string;
  readonly labels?: readonly string[];
  readonly dueAt: string;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly latenessMs?: number;
  readonly nextAttemptAt?: string;
  readonly attempts: number;
  readonly maxRetries: number;
  readonly status?: number;
  readonly error?: string;
  readonly response?: AnswerShown;
  readonly destination: string;
  readonly method: string;
  readonly node?: string;
  readonly dlqId?: string;
  readonly sourceMessageId?: string;
}

export interface FailedAttempt {
  readonly attempt: number;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly status?: number;
  readonly error?: string;
  readonly response?: AnswerShown;
  readonly nextAttemptAt?: string;
  readonly node?: string;
}

export interface RunDetail extends Run {
  readonly request: { readonly headers?: HeaderMap; readonly body?: string; readonly bodyBase64?: string };
  readonly timeoutMs: number;
  readonly failedAttempts: readonly FailedAttempt[];
  readonly callback?: string;
  readonly failureCallback?: string;
  /** What is shown as a hash in place of itself: body, header, header[Name]. */
  readonly redact?: string;
}

export interface RunPage {
  readonly runs: readonly Run[];
  readonly cursor?: string;
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
