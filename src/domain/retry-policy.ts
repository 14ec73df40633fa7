// Decides what follows a failed attempt: a retry at a time, or the end. The rules are those of QStash's public
// documentation.
import { parseHttpDate } from './http-date.js';
import { compileRetryDelay } from './retry-delay-expression.js';

const DAY_MS = 86_400_000;

/**
 * The most that jitter adds to a default delay: enough to separate messages that failed together, too little to be
 * visible in whole seconds.
 */
const MAX_JITTER_MS = 1000;
const MAX_JITTER_FRACTION = 0.05;

const NON_RETRYABLE_STATUS = 489;
const RATE_LIMIT_HEADERS = ['x-ratelimit-reset', 'x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens'] as const;
const GO_UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

export interface FailedAttempt {
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** Retries allowed after the first attempt. */
  readonly maxRetries: number;
  readonly retryDelayExpression: string | null;
  /** The receiver's answer with lower-case header names; null when there was none (refused, reset, timed out). */
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  } | null;
  readonly nowMs: number;
  /** In [0, 1); spreads default delays a little. */
  readonly random: number;
}

export type RetryDecision =
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'exhausted' }
  | { readonly kind: 'non-retryable' };

/**
 * Returns what to do after a failed attempt. The delay is the first that applies of: the message's own expression; the
 * receiver's Retry-After, or else the longest of its X-RateLimit-Reset headers (seconds, HTTP date or Go duration; 0
 * and past dates mean now; unreadable ones and those of more than a day are ignored); the default backoff. It is whole
 * milliseconds within [0, 24 h].
 */
export function nextRetry(failed: FailedAttempt): RetryDecision {
  if (isNonRetryable(failed.response)) return { kind: 'non-retryable' };
  if (failed.attempt > failed.maxRetries) return { kind: 'exhausted' };
  const delayMs =
    expressionDelayMs(failed.retryDelayExpression, failed.attempt - 1) ??
    requestedDelayMs(failed.response?.headers ?? {}, failed.nowMs) ??
    withJitterMs(defaultBackoffMs(failed.attempt), failed.random);
  return { kind: 'retry', delayMs };
}

/**
 * Returns the documented backoff after the n-th failure, without jitter: min(86,400, e^(2.5 n)) seconds, in whole
 * milliseconds.
 */
export function defaultBackoffMs(attempt: number): number {
  return Math.round(Math.min(DAY_MS, Math.exp(2.5 * attempt) * 1000));
}

function withJitterMs(delayMs: number, random: number): number {
  const most = Math.min(MAX_JITTER_MS, delayMs * MAX_JITTER_FRACTION);
  return Math.min(DAY_MS, delayMs + Math.floor(random * most));
}

function isNonRetryable(response: FailedAttempt['response']): boolean {
  if (response?.status !== NON_RETRYABLE_STATUS) return false;
  return response.headers['upstash-nonretryable-error']?.[0]?.trim().toLowerCase() === 'true';
}

function expressionDelayMs(expression: string | null, retried: number): number | null {
  if (expression === null) return null;
  try {
    return compileRetryDelay(expression)(retried);
  } catch {
    // Expressions are checked when they are accepted. One that no longer compiles must not prevent a message from
    // ending.
    return null;
  }
}

function requestedDelayMs(
  headers: Readonly<Record<string, readonly string[] | undefined>>,
  nowMs: number,
): number | null {
  const retryAfterMs = usableDelayMs(headers['retry-after']?.[0], nowMs);
  if (retryAfterMs !== null) return retryAfterMs;
  // Receivers send the resets of several limits at once without naming the one that was reached; after the longest all
  // of them are over.
  let longestMs: number | null = null;
  for (const name of RATE_LIMIT_HEADERS) {
    const delayMs = usableDelayMs(headers[name]?.[0], nowMs);
    if (delayMs !== null) longestMs = Math.max(longestMs ?? 0, delayMs);
  }
  return longestMs;
}

function usableDelayMs(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  const delayMs = parseResetMs(text.trim(), nowMs);
  return delayMs === null || delayMs > DAY_MS ? null : delayMs;
}

/** Parses a delay from seconds, a Go duration or an HTTP date; returns null for anything else. */
function parseResetMs(text: string, nowMs: number): number | null {
  if (text.length > 64) return null;
  if (/^\d+(\.\d*)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  if (/^(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/.test(text)) return parseGoDurationMs(text);
  const atMs = parseHttpDate(text, nowMs);
  return atMs === null ? null : Math.max(0, atMs - nowMs);
}

function parseGoDurationMs(text: string): number | null {
  if (!/^((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return null;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    totalMs += Number(amount) * (GO_UNIT_MS[unit ?? ''] ?? 0);
  }
  return Math.ceil(totalMs);
}
