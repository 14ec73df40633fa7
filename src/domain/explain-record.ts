// Explains an occurrence by its record: whether it ran, how late, why, or why it was skipped. Pure.

import type { Evidence, ExplainFacts, FailedAttempt, OccurrenceRecord, Verdict } from './explain-facts.js';
import { fromNowOn, instant, latency } from './explain-words.js';
import { toWireMessageId } from './ids.js';
import { skipKind } from './occurrence.js';

/** Deliveries that start less than this after their due time are on time. */
const ON_TIME_MS = 100;

export interface Explained {
  readonly verdict: Verdict;
  readonly text: string;
  readonly evidence: readonly Evidence[];
}

/** Returns the verdict on an occurrence that has a record. */
export function explainRecord(record: OccurrenceRecord, facts: ExplainFacts): Explained {
  switch (record.state) {
    case 'delivered':
      return explainDelivered(record, facts);
    case 'failed':
      return explainFailed(record, facts);
    case 'pending':
      return explainPending(record, facts);
    case 'skipped':
      return explainSkipped(record, facts);
    case 'canceled':
      return {
        verdict: 'canceled',
        text: `It did not run: it was ${record.reason ?? 'canceled'}${on(record.endedAtMs)}.`,
        evidence: [fired(record)],
      };
  }
}

function explainDelivered(record: OccurrenceRecord, facts: ExplainFacts): Explained {
  const startedAtMs = record.startedAtMs ?? record.endedAtMs ?? record.dueAtMs;
  const lateMs = startedAtMs - record.dueAtMs;
  const isLate = lateMs >= ON_TIME_MS;
  const causes = isLate ? causesOf(record, startedAtMs, facts) : [];
  const because = causes.length === 0 ? '' : `, because ${causes.map(({ because: cause }) => cause).join(', and ')}`;
  const tries = record.attempts > 1 ? ` at attempt ${record.attempts}` : '';
  // The state that a late success corrected.
  const before = record.reason === null ? '' : ` It had been ${record.reason}.`;
  const answer = `It was answered ${record.lastStatus ?? 'well'}${tries}${on(record.endedAtMs)}.${before}`;
  return {
    verdict: isLate ? 'ran-late' : 'ran',
    text: `It ran ${latency(lateMs)} after it was due${because}. ${answer}`,
    evidence: [fired(record), ...causes.map(({ evidence }) => evidence), ...attemptsOf(facts.attempts), sent(record)],
  };
}

function explainFailed(record: OccurrenceRecord, facts: ExplainFacts): Explained {
  const list = record.isDeadLetter ? 'It is among the dead letters' : 'It is not among the dead letters any more';
  return {
    verdict: 'failed',
    text: `It was sent, and failed for good after ${count(record.attempts, 'attempt')}${on(record.endedAtMs)}: ${problem(record)}. ${list}.`,
    evidence: [fired(record), ...attemptsOf(facts.attempts)],
  };
}

function explainPending(record: OccurrenceRecord, facts: ExplainFacts): Explained {
  const { nowMs, before } = facts;
  if (record.isHeld) {
    const evidence = before === null ? [] : [theOneBefore(before)];
    return {
      verdict: 'waiting',
      text: 'It waits for the occurrence before it, which has not ended yet (overlap policy "queue").',
      evidence: [fired(record), ...evidence],
    };
  }
  if (record.attempts > 0) {
    return {
      verdict: 'retrying',
      text:
        `It was sent and has failed ${count(record.attempts, 'time')} so far: ${problem(record)}. ` +
        `It is tried again at ${instant(record.nextAttemptAtMs)}, up to ${record.maxRetries + 1} times in all.`,
      evidence: [fired(record), ...attemptsOf(facts.attempts)],
    };
  }
  if (record.dueAtMs > nowMs) {
    const text = `It was fired and is to be sent at ${instant(record.dueAtMs)}, ${fromNowOn(record.dueAtMs - nowMs)}.`;
    return { verdict: 'will-run', text, evidence: [fired(record)] };
  }
  return {
    verdict: 'due',
    text: `It has been due for ${latency(nowMs - record.dueAtMs)}: it is being sent, or waits for the capacity of its node or its host.`,
    evidence: [fired(record), ...grantOf(facts)],
  };
}

function explainSkipped(record: OccurrenceRecord, facts: ExplainFacts): Explained {
  const { schedule, before } = facts;
  const reason = record.reason ?? '';
  const covers =
    record.coversUntilMs === null
      ? []
      : [
          {
            atMs: record.occurrenceAtMs,
            text: `one record stands for all times up to ${instant(record.coversUntilMs)}`,
          },
        ];
  const skippedBecause = (why: string, evidence: readonly Evidence[] = []): Explained => ({
    verdict: 'skipped',
    text: `It did not run: ${why}.`,
    evidence: [...evidence, { atMs: record.createdAtMs, text: `recorded as skipped: ${reason}` }, ...covers],
  });
  switch (skipKind(reason)) {
    case 'edited':
    case 'paused':
    case 'deleted':
      return skippedBecause(
        `it had been due for ${latency(latenessOf(record))} and was not fired yet when the schedule was ${reason} at ` +
          `${instant(record.createdAtMs)}; nothing is sent by a former definition`,
        grantBefore(record, facts),
      );
    case 'overlap':
      return skippedBecause(
        'the occurrence before it was still running (overlap policy "skip")',
        before === null ? [] : [theOneBefore(before)],
      );
    case 'overlap_full':
      return skippedBecause(
        'as many occurrences as may wait were waiting for the one before already (overlap policy "queue")',
      );
    case 'key_held':
      return skippedBecause(`its work is another message's already: ${reason}`);
    case 'misfire': {
      const lateMs = latenessOf(record);
      const policy = schedule === null ? '' : ` (misfire policy "${schedule.misfire}")`;
      return skippedBecause(
        `nobody could fire it until ${instant(record.createdAtMs)}, ${latency(lateMs)} late, and what is so late is left out${policy}`,
        grantBefore(record, facts),
      );
    }
  }
}

/** Returns how long after its nominal time the record was written. */
function latenessOf(record: OccurrenceRecord): number {
  return record.createdAtMs - (record.occurrenceAtMs ?? record.createdAtMs);
}

interface Cause {
  readonly because: string;
  readonly evidence: Evidence;
}

/**
 * Returns why an occurrence was late, as far as the record shows: fired late, delayed by the one before, or started
 * late.
 */
function causesOf(record: OccurrenceRecord, startedAtMs: number, facts: ExplainFacts): Cause[] {
  const { schedule, before } = facts;
  const nominalAtMs = record.occurrenceAtMs ?? record.dueAtMs;
  const causes: Cause[] = [];
  if (record.createdAtMs - nominalAtMs >= ON_TIME_MS) causes.push(firedLate(record, nominalAtMs, facts));
  const couldStartAtMs = Math.max(record.dueAtMs, record.createdAtMs);
  if (startedAtMs - couldStartAtMs < ON_TIME_MS) return causes;
  const endedBefore = before?.endedAtMs ?? null;
  if (schedule?.overlap === 'queue' && before !== null && isWithin(endedBefore, couldStartAtMs, startedAtMs)) {
    causes.push({
      because: `it waited for the one before, which ended at ${instant(endedBefore)} (overlap policy "queue")`,
      evidence: theOneBefore(before),
    });
    return causes;
  }
  const move = moveWithin(couldStartAtMs, startedAtMs, facts);
  causes.push(
    move ?? {
      because: 'it waited for the capacity of its node or its host',
      evidence: { atMs: startedAtMs, text: `sent ${latency(startedAtMs - couldStartAtMs)} after it could have been` },
    },
  );
  return causes;
}

function firedLate(record: OccurrenceRecord, nominalAtMs: number, facts: ExplainFacts): Cause {
  const { schedule, misfireGraceMs } = facts;
  const lateMs = record.createdAtMs - nominalAtMs;
  const move = moveWithin(nominalAtMs, record.createdAtMs, facts);
  if (move !== null) return move;
  const misfire =
    lateMs > misfireGraceMs && schedule !== null ? ` (misfire policy "${schedule.misfire}" sends it late)` : '';
  return {
    because: `nobody fired it before ${instant(record.createdAtMs)}${misfire}`,
    evidence: {
      atMs: record.createdAtMs,
      text: `fired ${latency(lateMs)} late: its node, Redis or PostgreSQL was unavailable, or busy; the shard has not moved since then as far as is known`,
    },
  };
}

/** Returns the last move of the shard if it was in this time. Earlier moves are not stored. */
function moveWithin(fromMs: number, toMs: number, { shard }: ExplainFacts): Cause | null {
  if (shard === null || !isWithin(shard.grantedAtMs, fromMs, toMs)) return null;
  return {
    because: `shard ${shard.shard} was moving`,
    evidence: {
      atMs: shard.grantedAtMs,
      text: `shard ${shard.shard} was granted to ${shard.node ?? 'nobody'} with epoch ${shard.epoch}`,
    },
  };
}

function isWithin(atMs: number | null, fromMs: number, toMs: number): atMs is number {
  return atMs !== null && atMs >= fromMs && atMs <= toMs;
}

function grantOf({ shard }: ExplainFacts): Evidence[] {
  if (shard?.grantedAtMs == null) return [];
  const text = `shard ${shard.shard} was granted to ${shard.node ?? 'nobody'} with epoch ${shard.epoch}`;
  return [{ atMs: shard.grantedAtMs, text }];
}

function grantBefore(record: OccurrenceRecord, facts: ExplainFacts): Evidence[] {
  return grantOf(facts).filter(({ atMs }) => atMs !== null && atMs <= record.createdAtMs);
}

function fired(record: OccurrenceRecord): Evidence {
  const nominalAtMs = record.occurrenceAtMs ?? record.dueAtMs;
  const laterMs = record.dueAtMs - nominalAtMs;
  const shift = laterMs > 0 ? `, due ${latency(laterMs)} after its nominal time by its window and delay` : '';
  return { atMs: record.createdAtMs, text: `fired as ${toWireMessageId(record.id)}${shift}` };
}

function sent(record: OccurrenceRecord): Evidence {
  const by = record.node === null ? '' : ` by ${record.node}`;
  return { atMs: record.endedAtMs, text: `delivered${by}` };
}

function theOneBefore(before: OccurrenceRecord): Evidence {
  const nominal = before.occurrenceAtMs === null ? '' : ` of ${instant(before.occurrenceAtMs)}`;
  const ended = before.endedAtMs === null ? 'has not ended' : `ended at ${instant(before.endedAtMs)}`;
  return {
    atMs: before.startedAtMs,
    text: `the one before${nominal} (${toWireMessageId(before.id)}) began; it ${ended}`,
  };
}

function attemptsOf(attempts: readonly FailedAttempt[]): Evidence[] {
  return attempts.map((attempt) => ({
    atMs: attempt.endedAtMs,
    text: `attempt ${attempt.attempt} failed: ${problem({ lastStatus: attempt.status, lastError: attempt.error })}`,
  }));
}

function problem({ lastStatus, lastError }: Pick<OccurrenceRecord, 'lastStatus' | 'lastError'>): string {
  return lastError ?? (lastStatus === null ? 'no answer' : `answered ${lastStatus}`);
}

const on = (atMs: number | null): string => (atMs === null ? '' : ` at ${instant(atMs)}`);
const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`;
