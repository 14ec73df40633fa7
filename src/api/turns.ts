// Splits long work into small pieces: each round of the event loop runs one piece of any work, and then whatever else
// is due on this node: heartbeats, deliveries, other requests.

import type { ProcessTime } from '../domain/clock.js';

/** How long a piece may run. */
const TURN_MS = 5;

/** Callers that wait for a turn. There is one event loop, and therefore one waiting line. */
const waiting: (() => void)[] = [];

/** Resolves in a later round of the event loop in which no other caller has a turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(grantTurn);
  });
}

function grantTurn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(grantTurn);
}

/**
 * Returns the results of `work` for each item, in order. Yields by time and not by number, since items may be large.
 */
export async function inTurns<Item, Result>(
  time: ProcessTime,
  items: Iterable<Item>,
  work: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  await nextTurn();
  let endMs = time.monotonicMs() + TURN_MS;
  for (const item of items) {
    if (time.monotonicMs() >= endMs) {
      await nextTurn();
      endMs = time.monotonicMs() + TURN_MS;
    }
    results.push(work(item));
  }
  return results;
}
