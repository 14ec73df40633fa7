// Decides what an attempt's result means for its message: delivered, to be tried again and when, or failed for good.

import { nextRetry } from './retry-policy.js';
import type { Message } from './message.js';

/** What came back from the destination. */
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

/** `attempt` counts from 1; `chance` in [0, 1) spreads the default delays. Nothing is tried again sooner than after `leastDelayMs`. */
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
