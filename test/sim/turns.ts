// Node's own timers and turns during a simulation: what our code asks of them goes to the simulated process that runs at the moment, and
// a turn ends when nothing is left to run.

import type { Cancel, ProcessTime } from '../../src/domain/clock.js';

const real = {
  setImmediate: globalThis.setImmediate,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  now: performance.now.bind(performance),
};

interface Handle {
  readonly cancel: Cancel;
}

let immediates: (() => void)[] = [];
/** Whose code runs now; null while servers and faults act. */
let runningTime: ProcessTime | null = null;

function timeOfRunning(): ProcessTime {
  if (runningTime === null) throw new Error('a timer was asked for outside of any simulated process');
  return runningTime;
}

/** Puts simulated timers in the place of Node's until the returned function is called. */
export function installTurns(): () => void {
  immediates = [];
  Object.assign(globalThis, {
    setImmediate: (call: (...args: unknown[]) => void, ...args: unknown[]) => {
      immediates.push(() => call(...args));
    },
    setTimeout: (call: () => void, delayMs = 0): Handle => ({
      cancel: timeOfRunning().after(delayMs, call),
    }),
    clearTimeout: (handle: Handle | undefined) => handle?.cancel(),
  });
  performance.now = () => (runningTime === null ? real.now() : runningTime.monotonicMs());
  return () => {
    Object.assign(globalThis, {
      setImmediate: real.setImmediate,
      setTimeout: real.setTimeout,
      clearTimeout: real.clearTimeout,
    });
    performance.now = real.now;
  };
}

/** Runs something in a process and everything that follows from it at the same moment. */
export async function runTurn(time: ProcessTime | null, run: () => void): Promise<void> {
  runningTime = time;
  run();
  for (;;) {
    // All microtasks are done before this resolves.
    await new Promise<void>((resolve) => real.setImmediate(resolve));
    const due = immediates;
    if (due.length === 0) break;
    immediates = [];
    for (const call of due) call();
  }
  runningTime = null;
}

/** Makes something of a process: what it takes for the time is the process's. */
export function within<Made>(time: ProcessTime, make: () => Made): Made {
  const before = runningTime;
  runningTime = time;
  try {
    return make();
  } finally {
    runningTime = before;
  }
}

/** Wall time, for those who measure the simulation itself. */
export const wallMs = real.now;
