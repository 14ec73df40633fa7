// The only place that has Node.js's timers and clocks. Compose hands them on: everybody else is given a time, so that a test or the simulator
// can give another.

import type { Clock, ProcessTime } from '../domain/clock.js';

export const processTime: ProcessTime = {
  monotonicMs: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};

/** The node's own wall clock: decides nothing, and is compared with the others. */
export const nodeClock: Clock = { nowMs: () => Date.now() };
