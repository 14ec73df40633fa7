/** Judges lateness: first calls and retries come soon after they are due, or soon after the fault that held them up ended. */
import type { Evidence, FaultNote } from '../evidence.js';
import { clockTime, Findings, groupBy, type Finding } from './findings.js';

/** In quiet times, on a machine that is busy with other things. */
const QUIET_MS = 15_000;
/**
 * What a fault made the cluster lose is found by a rescue: rows are left alone until they are ten seconds old, sweeps come every ten seconds
 * (node-settings.ts), and a claim that nobody settles expires after three leases.
 */
const RESCUED_MS = 20_000;
const EXPIRED_LEASES = 3;
/** What is due, or was accepted, just before a fault is struck by it. */
const BEFORE_FAULT_MS = 1_000;

interface Wait {
  readonly messageId: string;
  readonly what: string;
  readonly dueAtMs: number;
  readonly arrivedAtMs: number;
}

export function judgeLateness(evidence: Evidence): Finding[] {
  const late = new Findings();
  const afterFaultMs = RESCUED_MS + EXPIRED_LEASES * evidence.leaseMs;
  for (const wait of waitsOf(evidence)) {
    const { messageId, what, arrivedAtMs } = wait;
    // Before the cluster was whole for the first time nobody could send it.
    const dueAtMs = Math.max(wait.dueAtMs, evidence.wholeAtMs);
    const struckUntilMs = lastFaultUntil(evidence.faults, dueAtMs, arrivedAtMs);
    const isLate =
      struckUntilMs === null ? arrivedAtMs > dueAtMs + QUIET_MS : arrivedAtMs > struckUntilMs + afterFaultMs;
    if (!isLate) continue;
    const text = `${messageId}, ${what} due ${clockTime(dueAtMs)}, came ${clockTime(arrivedAtMs)}`;
    late.add(struckUntilMs === null ? 'late in quiet times' : 'late after a fault', text);
  }
  return late.list();
}

/** Until when faults held up what was due at one time and came at another; null when none can have. */
function lastFaultUntil(faults: readonly FaultNote[], dueAtMs: number, arrivedAtMs: number): number | null {
  const struck = faults.filter(
    ({ startedAtMs, endedAtMs, recoveredAtMs }) =>
      startedAtMs <= arrivedAtMs && Math.max(recoveredAtMs ?? endedAtMs, endedAtMs) >= dueAtMs - BEFORE_FAULT_MS,
  );
  return struck.length === 0 ? null : Math.max(dueAtMs, ...struck.map(({ endedAtMs }) => endedAtMs));
}

/** The first call of each message, and each call that follows a failed attempt. */
function waitsOf({ calls, messages, failedAttempts }: Evidence): Wait[] {
  const callsOf = groupBy(calls, ({ messageId }) => messageId);
  const arrival = (messageId: string, retried: number): number | null => {
    const arrivals = (callsOf.get(messageId) ?? []).filter((call) => call.retried >= retried);
    return arrivals.length === 0 ? null : Math.min(...arrivals.map(({ arrivedAtMs }) => arrivedAtMs));
  };
  const firsts = messages.map(({ id, dueAtMs }) => ({ messageId: id, what: 'first call', retried: 0, dueAtMs }));
  const retries = failedAttempts.flatMap(({ messageId, attempt, nextAttemptAtMs }) =>
    nextAttemptAtMs === null
      ? []
      : [{ messageId, what: `retry ${attempt}`, retried: attempt, dueAtMs: nextAttemptAtMs }],
  );
  return [...firsts, ...retries].flatMap(({ messageId, what, retried, dueAtMs }) => {
    const arrivedAtMs = arrival(messageId, retried);
    return arrivedAtMs === null ? [] : [{ messageId, what, dueAtMs, arrivedAtMs }];
  });
}
