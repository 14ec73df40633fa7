// This process's time.

import type { ProcessTime } from '../domain/clock.js';

export const processTime: ProcessTime = {
  monotonicMs: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};
