/** Judges the messages: nothing lost (I3), nothing early (I4), one record each (I1, I9), cancels respected. */
import type { Call, Evidence, MessageRecord, Publish } from '../evidence.js';
import { clockTime, Findings, groupBy, type Finding } from './findings.js';

export interface MessagesVerdict {
  readonly due: number;
  readonly delivered: number;
  readonly lost: readonly Finding[];
  readonly early: readonly Finding[];
  readonly doubleRecords: readonly Finding[];
  readonly canceledButDelivered: readonly Finding[];
  /** Records that do not agree with what the receiver saw. */
  readonly contradictions: readonly Finding[];
}

/** A cancel is acknowledged by one process and a call begun by another: what had left by then arrives within this. */
const CANCEL_TOLERANCE_MS = 100;
/** Nodes estimate Redis's clock when they turn a delay into a due time. */
const CLOCK_TOLERANCE_MS = 5;
const NUMBER_IN_DESTINATION = /[?&]n=(\d+)/;

/** The number that the load gave a message; null for occurrences. */
function numberOf(destination: string): number | null {
  const match = NUMBER_IN_DESTINATION.exec(destination);
  return match === null ? null : Number(match[1]);
}

export function judgeMessages(evidence: Evidence): MessagesVerdict {
  const callsOf = groupBy(evidence.calls, ({ messageId }) => messageId);
  const rowsOfNumber = groupBy(
    evidence.messages.filter(({ kind }) => kind !== 'occurrence'),
    ({ destination }) => numberOf(destination),
  );
  const rows = new Map(evidence.messages.map((row) => [row.id, row]));
  const judged = evidence.messages.filter((row) => row.state !== 'canceled' && row.state !== 'skipped');
  return {
    due: judged.length,
    delivered: judged.filter((row) => row.state === 'delivered').length,
    lost: lost(evidence, rows, callsOf),
    early: early(evidence, callsOf),
    doubleRecords: doubleRecords(evidence, rowsOfNumber),
    canceledButDelivered: canceledButDelivered(evidence, rows, callsOf),
    contradictions: contradictions(evidence, rows, callsOf),
  };
}

function lost(
  evidence: Evidence,
  rows: ReadonlyMap<string, MessageRecord>,
  callsOf: ReadonlyMap<string, readonly Call[]>,
): Finding[] {
  const findings = new Findings();
  const ends = new Map<string, Publish['end']>();
  for (const publish of evidence.publishes) {
    if (publish.messageId === null) continue;
    ends.set(publish.messageId, publish.end);
    if (!rows.has(publish.messageId)) findings.add('accepted, but no record', publish.messageId);
  }
  for (const row of evidence.messages) {
    const name = `${row.id} ${row.scheduleId ?? row.destination} due ${clockTime(row.dueAtMs)}`;
    if (row.state === 'pending') findings.add('due, but never finished', name);
    if (row.state === 'failed' && ends.get(row.id) !== 'failed' && !row.destination.includes('fails=99')) {
      findings.add('given up although the destination answers in the end', name);
    }
    const answered = callsOf.get(row.id)?.some(({ status }) => status !== null && status < 300) === true;
    if (row.state === 'delivered' && !answered) findings.add('recorded as delivered, but never answered well', name);
  }
  return findings.list();
}

function early(evidence: Evidence, callsOf: ReadonlyMap<string, readonly Call[]>): Finding[] {
  const findings = new Findings();
  for (const row of evidence.messages) {
    for (const call of callsOf.get(row.id) ?? []) {
      if (call.arrivedAtMs < row.dueAtMs) {
        findings.add('before its due time', `${row.id} by ${row.dueAtMs - call.arrivedAtMs} ms`);
      }
    }
  }
  for (const { messageId, attempt, nextAttemptAtMs } of evidence.failedAttempts) {
    // Attempt number n says that it was retried n - 1 times, so what follows attempt n says n.
    const next = callsOf.get(messageId)?.find(({ retried }) => retried === attempt);
    if (nextAttemptAtMs !== null && next !== undefined && next.arrivedAtMs < nextAttemptAtMs) {
      findings.add('before its retry time', `${messageId} by ${nextAttemptAtMs - next.arrivedAtMs} ms`);
    }
  }
  for (const publish of evidence.publishes) {
    const first = publish.messageId === null ? undefined : callsOf.get(publish.messageId)?.[0];
    if (first !== undefined && first.arrivedAtMs < publish.askedAtMs + publish.delayMs - CLOCK_TOLERANCE_MS) {
      findings.add('before the delay that the client asked for', `${first.messageId} (${publish.delayMs} ms)`);
    }
  }
  return findings.list();
}

function doubleRecords(
  evidence: Evidence,
  rowsOfNumber: ReadonlyMap<number | null, readonly MessageRecord[]>,
): Finding[] {
  const findings = new Findings();
  const occurrences = evidence.messages.filter(({ kind }) => kind === 'occurrence');
  for (const [name, rows] of groupBy(occurrences, (row) => `${row.scheduleId} ${row.occurrenceAtMs}`)) {
    if (rows.length > 1) findings.add('one occurrence, several records', `${name}: ${rows.length}`);
  }
  for (const [number, rows] of rowsOfNumber) {
    if (number === null || rows.length === 1) continue;
    findings.add('one publish, several records', `n=${number}: ${rows.map(({ id }) => id).join(', ')}`);
  }
  const ends = evidence.stateNotes.filter(({ state }) => state !== 'pending');
  for (const [id, notes] of groupBy(ends, ({ messageId }) => messageId)) {
    const states = notes.map(({ state }) => state).join(', ');
    if (notes.length === 1 || (states === 'canceled, delivered' && wasUnderWay(evidence, id))) continue;
    findings.add('ended twice', `${id}: ${states}`);
  }
  const ids = new Map<string, string>();
  for (const { scheduleId, occurrenceAtMs, messageId } of evidence.calls) {
    if (scheduleId === null || occurrenceAtMs === null) continue;
    const name = `${scheduleId} ${clockTime(occurrenceAtMs)}`;
    const known = ids.get(name);
    if (known !== undefined && known !== messageId) findings.add('one occurrence, calls under several ids', name);
    ids.set(name, messageId);
  }
  return findings.list();
}

/**
 * Whether its call had begun before its cancel was acknowledged, and went well: a success is a fact, and corrects the record. A cancel that
 * was asked for and not acknowledged promises nothing.
 */
function wasUnderWay(evidence: Evidence, messageId: string): boolean {
  const cancel = evidence.cancels.find((one) => one.messageId === messageId);
  const untilMs = cancel === undefined ? -Infinity : (cancel.acknowledgedAtMs ?? Infinity) + CANCEL_TOLERANCE_MS;
  return evidence.calls.some(
    (call) => call.messageId === messageId && call.arrivedAtMs <= untilMs && call.status !== null && call.status < 300,
  );
}

function canceledButDelivered(
  evidence: Evidence,
  rows: ReadonlyMap<string, MessageRecord>,
  callsOf: ReadonlyMap<string, readonly Call[]>,
): Finding[] {
  const findings = new Findings();
  const asked = new Set(evidence.cancels.map(({ messageId }) => messageId));
  for (const { state, id } of evidence.messages) {
    if (state === 'canceled' && !asked.has(id)) findings.add('canceled although nobody asked', id);
  }
  for (const { messageId, acknowledgedAtMs } of evidence.cancels) {
    if (acknowledgedAtMs === null) continue;
    const row = rows.get(messageId);
    const isCorrected = row?.state === 'delivered' && wasUnderWay(evidence, messageId);
    if (row !== undefined && row.state !== 'canceled' && !isCorrected) {
      findings.add('canceled, but its record says otherwise', `${messageId}: ${row.state}`);
    }
    for (const call of callsOf.get(messageId) ?? []) {
      if (call.arrivedAtMs > acknowledgedAtMs + CANCEL_TOLERANCE_MS) {
        findings.add('called after its cancel', `${messageId} ${call.arrivedAtMs - acknowledgedAtMs} ms after`);
      }
    }
  }
  return findings.list();
}

function contradictions(
  evidence: Evidence,
  rows: ReadonlyMap<string, MessageRecord>,
  callsOf: ReadonlyMap<string, readonly Call[]>,
): Finding[] {
  const findings = new Findings();
  for (const [id, calls] of callsOf) {
    const row = rows.get(id);
    if (row === undefined) findings.add('called, but no record', `${id} ${calls[0]?.path}`);
    else if (row.state === 'skipped') findings.add('called although it was skipped', `${id} ${row.reason}`);
  }
  const unanswered = groupBy(
    evidence.failedAttempts.filter(({ answered }) => !answered),
    ({ messageId }) => messageId,
  );
  for (const row of evidence.messages) {
    // What a dying node never recorded is repeated, so there may be more calls than attempts, and never fewer.
    const calls = callsOf.get(row.id)?.length ?? 0;
    const finished = row.state === 'delivered' || row.state === 'failed';
    if (finished && calls < row.attempts - (unanswered.get(row.id)?.length ?? 0)) {
      findings.add('more attempts recorded than calls received', `${row.id}: ${row.attempts} and ${calls}`);
    }
    if (row.state === 'failed' && row.attempts !== row.maxRetries + 1) {
      findings.add('given up before its last retry', `${row.id}: ${row.attempts} of ${row.maxRetries + 1} attempts`);
    }
  }
  return findings.list();
}
