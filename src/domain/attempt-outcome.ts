// Decides what an attempt's result means for its message: delivered, retried at a time, or failed for good.

import { nextRetry } from './retry-policy.js';
import type { Message } from './message.js';

/** The result of the call to the destination. */
export type AttemptResult =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: Readonly<Record<string, readonly string[]>>;
    }
  | { readonly kind: 'error' };

export type Verdict =
  | { readonly state: 'delivered' }
  | { readonly state: 'pending'; readonly nextAttemptAtMs: number }
  | { readonly state: 'failed' };

/**
 * Returns the verdict on an attempt. `attempt` counts from 1; `random` in [0, 1) spreads the default delays. No retry
 * is scheduled sooner than `leastDelayMs`.
 */
export function judge(
  message: Pick<Message, 'maxRetries' | 'retryDelay'>,
  attempt: number,
  result: AttemptResult,
  nowMs: number,
  random: number,
  leastDelayMs = 0,
): Verdict {
  if (result.kind === 'response' && result.status >= 200 && result.status <= 299) return { state: 'delivered' };
  const decision = nextRetry({
    attempt,
    maxRetries: message.maxRetries,
    retryDelayExpression: message.retryDelay,
    response: result.kind === 'response' ? { status: result.status, headers: result.headers } : null,
    nowMs,
    random,
  });
  return decision.kind === 'retry'
    ? { state: 'pending', nextAttemptAtMs: Math.ceil(nowMs + Math.max(decision.delayMs, leastDelayMs)) }
    : { state: 'failed' };
}
