// Ways to wait, by the time of whoever waits.

import type { Cancel, ProcessTime } from '../domain/clock.js';

export function pause(time: ProcessTime, durationMs: number): Promise<void> {
  return new Promise((resolve) => void time.after(durationMs, resolve));
}

/** The result of the work, or a rejection with `late()` when it takes longer. What was asked goes on, and its end is nobody's concern any more. */
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

/** Waits for the end of the work, and no longer than so long. Rejects as the work does. */
export async function atMost(time: ProcessTime, durationMs: number, work: Promise<unknown>): Promise<void> {
  let cancel: Cancel = () => undefined;
  const over = new Promise<void>((resolve) => (cancel = time.after(durationMs, resolve)));
  try {
    await Promise.race([work, over]);
  } finally {
    cancel();
  }
}

/** Calls again and again, for the first time when one period is over. */
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
