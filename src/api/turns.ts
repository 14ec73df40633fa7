// Long work in small pieces: in each round of the event loop one piece runs, whoever's it is, and then whatever else is due on this node:
// heartbeats, deliveries, other requests.

import type { ProcessTime } from '../domain/clock.js';

/** How long a piece may take. */
const TURN_MS = 5;

/** Those that wait for a turn. There is one event loop, and so there is one line. */
const waiting: (() => void)[] = [];

/** Resolves in a later round of the event loop, in which nobody else has a turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(giveTurn);
  });
}

function giveTurn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(giveTurn);
}

/** Results of `work` for each item, in order. Goes by time and not by number: items may be large. */
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
