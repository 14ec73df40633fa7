// Ways to wait, by the clock of the caller.

import type { Cancel, ProcessTime } from '../domain/clock.js';

export function pause(time: ProcessTime, durationMs: number): Promise<void> {
  return new Promise((resolve) => void time.after(durationMs, resolve));
}

/**
 * Resolves with the result of the work, or rejects with `late()` when it takes longer. The work continues, and its end
 * is ignored.
 */
export async function within<Result>(
  time: ProcessTime,
  durationMs: number,
  work: Promise<Result>,
  late: () => Error,
): Promise<Result> {
  let cancel: Cancel = () => undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    cancel = time.after(durationMs, () => reject(late()));
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    cancel();
  }
}

/** Waits for the end of the work, at most for the given time. Rejects as the work does. */
export async function atMost(time: ProcessTime, durationMs: number, work: Promise<unknown>): Promise<void> {
  let cancel: Cancel = () => undefined;
  const over = new Promise<void>((resolve) => (cancel = time.after(durationMs, resolve)));
  try {
    await Promise.race([work, over]);
  } finally {
    cancel();
  }
}

/** Calls back periodically, for the first time after one period. */
export function every(time: ProcessTime, periodMs: number, call: () => void): Cancel {
  let cancel: Cancel;
  const again = (): void => {
    cancel = time.after(periodMs, () => {
      again();
      call();
    });
  };
  again();
  return () => cancel();
}
