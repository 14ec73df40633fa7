// The only file that uses Node.js's timers and clocks. compose passes them on: all other code receives its time, so
// that a test or the simulator can replace it.

import type { Clock, ProcessTime } from '../domain/clock.js';

export const processTime: ProcessTime = {
  monotonicMs: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};

/** The node's own wall clock: it decides nothing, and is only compared with the others. */
export const nodeClock: Clock = { nowMs: () => Date.now() };
