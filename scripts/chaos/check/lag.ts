/** Measures lag: from the due time of each piece of work to its first call, in quiet times and while something was broken. */
import type { Evidence, FaultNote } from '../evidence.js';
import { spreadOf, type Spread } from './findings.js';

export interface LagVerdict {
  readonly quiet: Spread;
  readonly fault: Spread;
  /** In the order of the faults. */
  readonly perFault: readonly Spread[];
}

/** Work that is due just before a fault may be struck by it. */
const BEFORE_FAULT_MS = 500;

export function measureLag(evidence: Evidence): LagVerdict {
  const quiet: number[] = [];
  const inFault: number[] = [];
  const perFault = new Map<FaultNote, number[]>(evidence.faults.map((fault) => [fault, []]));
  for (const { dueAtMs, lagMs } of lagsOf(evidence)) {
    if (dueAtMs < evidence.wholeAtMs) continue;
    const fault = evidence.faults.find(
      ({ startedAtMs, recoveredAtMs }) =>
        dueAtMs >= startedAtMs - BEFORE_FAULT_MS && dueAtMs <= (recoveredAtMs ?? evidence.endedAtMs),
    );
    if (fault === undefined) quiet.push(lagMs);
    else {
      inFault.push(lagMs);
      perFault.get(fault)?.push(lagMs);
    }
  }
  return {
    quiet: spreadOf(quiet),
    fault: spreadOf(inFault),
    perFault: evidence.faults.map((fault) => spreadOf(perFault.get(fault) ?? [])),
  };
}

/** Of everything that was called at all, when it was due and how late its first call was. */
function lagsOf({ calls, messages }: Evidence): { dueAtMs: number; lagMs: number }[] {
  const firstCallMs = new Map<string, number>();
  for (const { messageId, arrivedAtMs } of calls) {
    firstCallMs.set(messageId, Math.min(arrivedAtMs, firstCallMs.get(messageId) ?? Infinity));
  }
  return messages.flatMap(({ id, dueAtMs }) => {
    const arrivedAtMs = firstCallMs.get(id);
    return arrivedAtMs === undefined ? [] : [{ dueAtMs, lagMs: arrivedAtMs - dueAtMs }];
  });
}
