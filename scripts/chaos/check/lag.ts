/** Measures lag: from the due time of each piece of work to its first call, in quiet times and while something was broken. */
import type { Evidence } from '../evidence.js';
import { spreadOf, type Spread } from './findings.js';

export interface LagVerdict {
  readonly quiet: Spread;
  readonly fault: Spread;
}

/** Work that is due just before a fault may be struck by it. */
const BEFORE_FAULT_MS = 500;

export function measureLag(evidence: Evidence): LagVerdict {
  const firstCallMs = new Map<string, number>();
  for (const { messageId, arrivedAtMs } of evidence.calls) {
    firstCallMs.set(messageId, Math.min(arrivedAtMs, firstCallMs.get(messageId) ?? Infinity));
  }
  const quiet: number[] = [];
  const fault: number[] = [];
  for (const { id, dueAtMs } of evidence.messages) {
    const arrivedAtMs = firstCallMs.get(id);
    if (arrivedAtMs === undefined) continue;
    const broken = evidence.faults.some(
      ({ startedAtMs, recoveredAtMs }) =>
        dueAtMs >= startedAtMs - BEFORE_FAULT_MS && dueAtMs <= (recoveredAtMs ?? evidence.endedAtMs),
    );
    (broken ? fault : quiet).push(arrivedAtMs - dueAtMs);
  }
  return { quiet: spreadOf(quiet), fault: spreadOf(fault) };
}
