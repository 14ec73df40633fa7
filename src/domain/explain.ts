// Explains why a schedule did or did not run at a moment: by the record of the occurrence if there is one, otherwise by
// the changes to the schedule and its calendar. Pure: others read the facts.
//
// A moment means the second that contains it, the resolution of calendars.

import type { CronExpression } from './cron/expression.js';
import { nextFire } from './cron/next-fire.js';
import { previousFire } from './cron/previous-fire.js';
import type { Evidence, ExplainFacts, Explanation, ScheduleChange, Verdict } from './explain-facts.js';
import { explainRecord } from './explain-record.js';
import { fromNowOn, instant, latency } from './explain-words.js';
import { expressionOf } from './schedule-change.js';
import { spreadOffsetMs } from './spread-window.js';

/** A nominal time this recent is about to be fired. */
const ABOUT_TO_FIRE_MS = 5_000;

/** Returns the second that contains a moment: its first and last millisecond. */
export function secondOf(atMs: number): { fromMs: number; toMs: number } {
  const fromMs = Math.floor(atMs / 1_000) * 1_000;
  return { fromMs, toMs: fromMs + 999 };
}

export function explain(facts: ExplainFacts): Explanation {
  const then = stateAt(facts);
  const calendar = calendarAround(facts, then);
  const { record } = facts;
  if (record !== null) {
    const own = record.coversUntilMs === null ? record.occurrenceAtMs : calendar.nominalAtMs;
    const explained = explainRecord(record, facts);
    return answer(
      facts,
      { ...calendar, nominalAtMs: own ?? calendar.nominalAtMs },
      explained.verdict,
      explained.text,
      explained.evidence,
    );
  }
  const { verdict, text, evidence = [] } = withoutRecord(facts, then, calendar);
  return answer(facts, calendar, verdict, text, evidence);
}

/** The state of the schedule at the moment, by its log. */
interface Then {
  /** `unknown`: its log does not go back that far. */
  readonly is: 'active' | 'paused' | 'deleted' | 'absent' | 'unknown';
  /** The change that led to this state. */
  readonly by: ScheduleChange | null;
  readonly cron: string | null;
  readonly timeZone: string | null;
  /** The anchor of an `@every`. */
  readonly anchorMs: number;
}

function stateAt({ atMs, schedule, changes }: ExplainFacts): Then {
  const past = changes.filter((change) => change.atMs <= atMs);
  const firstLater = changes.find((change) => change.atMs > atMs) ?? null;
  let is: Then['is'] = 'unknown';
  let by: ScheduleChange | null = null;
  let calendar: Pick<Then, 'cron' | 'timeZone'> = {
    cron: schedule?.cron ?? null,
    timeZone: schedule?.timeZone ?? null,
  };
  let anchorMs = schedule?.anchorMs ?? changes.find(({ change }) => change === 'created')?.atMs ?? atMs;
  for (const change of past) {
    if (change.change === 'created') anchorMs = change.atMs;
    if (change.cron !== null) calendar = { cron: change.cron, timeZone: change.timeZone };
    const next: Then['is'] = STATE_AFTER[change.change] ?? (is === 'unknown' ? 'active' : is);
    if (next !== is || is === 'unknown') by = change;
    is = next;
  }
  if (past.length === 0) {
    const isYounger = firstLater?.change === 'created' || (schedule !== null && schedule.createdAtMs > atMs);
    if (isYounger) is = 'absent';
    by = isYounger ? firstLater : null;
  }
  return { is, by, ...calendar, anchorMs };
}

/** An edit does not change it. */
const STATE_AFTER: Partial<Record<ScheduleChange['change'], Then['is']>> = {
  created: 'active',
  resumed: 'active',
  paused: 'paused',
  deleted: 'deleted',
  ended: 'active',
};

interface Calendar {
  readonly nominalAtMs: number | null;
  readonly beforeAtMs: number | null;
  readonly afterAtMs: number | null;
}

function calendarAround({ atMs }: ExplainFacts, then: Then): Calendar {
  const expression = expressionThen(then);
  if (expression === null) return { nominalAtMs: null, beforeAtMs: null, afterAtMs: null };
  const { fromMs, toMs } = secondOf(atMs);
  const firstMs = nextFire(expression, fromMs - 1, then.anchorMs)?.atMs ?? null;
  const nominalAtMs = firstMs !== null && firstMs <= toMs ? firstMs : null;
  return {
    nominalAtMs,
    beforeAtMs: previousFire(expression, fromMs, then.anchorMs),
    afterAtMs: nominalAtMs === null ? firstMs : (nextFire(expression, nominalAtMs, then.anchorMs)?.atMs ?? null),
  };
}

/** Returns null for an expression of the log that can no longer be parsed. */
function expressionThen({ cron, timeZone }: Then): CronExpression | null {
  if (cron === null) return null;
  try {
    return expressionOf({ cron, timeZone });
  } catch {
    return null;
  }
}

interface Explained {
  readonly verdict: Verdict;
  readonly text: string;
  readonly evidence?: readonly Evidence[];
}

/** Explains a moment without a record. */
function withoutRecord(facts: ExplainFacts, then: Then, calendar: Calendar): Explained {
  const { atMs, nowMs, schedule, retentionMs } = facts;
  if (then.is === 'absent') {
    const createdAtMs = then.by?.atMs ?? schedule?.createdAtMs ?? null;
    const when = createdAtMs === null ? 'later' : `at ${instant(createdAtMs)}`;
    return { verdict: 'not-created-yet', text: `It did not run: the schedule was created ${when}.` };
  }
  if (then.is === 'deleted') {
    return {
      verdict: 'deleted',
      text: `It did not run: the schedule was deleted at ${instant(then.by?.atMs ?? atMs)}.`,
    };
  }
  if (calendar.nominalAtMs === null) return notATime(facts, then, calendar);
  if (then.is === 'paused') return paused(facts, then);
  const outside = outOfBounds(facts, calendar.nominalAtMs);
  if (outside !== null) return outside;
  if (schedule === null) {
    return { verdict: 'deleted', text: 'It will not run: the schedule is deleted.' };
  }
  if (calendar.nominalAtMs > nowMs) return inFuture(facts, calendar.nominalAtMs);
  if (schedule.state === 'active' && (schedule.nextFireAtMs ?? Infinity) <= calendar.nominalAtMs) {
    return notFiredYet(facts, calendar.nominalAtMs);
  }
  if (calendar.nominalAtMs < nowMs - retentionMs) {
    return {
      verdict: 'unknown',
      text: `There is no record of it: records are kept for ${latency(retentionMs)}, and it would be older.`,
    };
  }
  return withoutReason(facts, then, calendar.nominalAtMs);
}

function notATime({ atMs, schedule }: ExplainFacts, then: Then, { beforeAtMs, afterAtMs }: Calendar): Explained {
  const zone = then.timeZone === null ? '' : ` in ${then.timeZone}`;
  const near = [
    beforeAtMs === null ? 'none before it' : `the one before it is ${instant(beforeAtMs)}`,
    afterAtMs === null ? 'none after it' : `the one after it ${instant(afterAtMs)}`,
  ].join(', ');
  const expression = then.cron === null ? 'The expression' : `The expression "${then.cron}"${zone}`;
  const isEdited = schedule !== null && then.cron !== null && schedule.cron !== then.cron;
  const evidence = isEdited
    ? [{ atMs: schedule.updatedAtMs, text: `the expression is "${schedule.cron}" since an edit` }]
    : [];
  return { verdict: 'not-a-time', text: `${expression} does not name ${instant(atMs)}: ${near}.`, evidence };
}

function paused({ atMs, nowMs, changes }: ExplainFacts, { by }: Then): Explained {
  const resumed = changes.find((change) => change.atMs > atMs && change.change === 'resumed');
  const since = by === null ? '' : ` by the edit at ${instant(by.atMs)}`;
  const until = resumed === undefined ? '' : `, until it was resumed at ${instant(resumed.atMs)}`;
  const evidence = [
    ...(by === null ? [] : [{ atMs: by.atMs, text: `paused (generation ${by.generation})` }]),
    ...(resumed === undefined ? [] : [{ atMs: resumed.atMs, text: `resumed (generation ${resumed.generation})` }]),
  ];
  const text =
    atMs > nowMs
      ? `It will not run unless the schedule is resumed: it is paused${since}.`
      : `It did not run: the schedule was paused${since}${until}. What falls into a pause is not caught up.`;
  return { verdict: 'paused', text, evidence };
}

function outOfBounds({ schedule }: ExplainFacts, nominalAtMs: number): Explained | null {
  const { startAtMs = null, endAtMs = null } = schedule ?? {};
  if (startAtMs !== null && nominalAtMs < startAtMs) {
    return { verdict: 'out-of-bounds', text: `It is no occurrence: the schedule starts at ${instant(startAtMs)}.` };
  }
  if (endAtMs !== null && nominalAtMs > endAtMs) {
    return { verdict: 'out-of-bounds', text: `It is no occurrence: the schedule ends at ${instant(endAtMs)}.` };
  }
  return null;
}

function inFuture({ nowMs, schedule }: ExplainFacts, nominalAtMs: number): Explained {
  if (schedule?.state === 'paused') {
    return { verdict: 'paused', text: 'It will not run unless the schedule is resumed: it is paused.' };
  }
  const laterMs =
    schedule === null
      ? 0
      : spreadOffsetMs(String(schedule.tenantId), schedule.id, schedule.windowMs) + schedule.delayMs;
  const shift = laterMs === 0 ? '' : `, ${latency(laterMs)} after its nominal time by its window and delay`;
  return {
    verdict: 'will-run',
    text: `It will run at ${instant(nominalAtMs + laterMs)}${shift}, ${fromNowOn(nominalAtMs + laterMs - nowMs)}.`,
  };
}

function notFiredYet({ nowMs, schedule, shard }: ExplainFacts, nominalAtMs: number): Explained {
  const lateMs = nowMs - nominalAtMs;
  if (lateMs < ABOUT_TO_FIRE_MS) return { verdict: 'due', text: 'Its time has just come: it is about to be fired.' };
  const evidence: Evidence[] = [
    { atMs: schedule?.nextFireAtMs ?? null, text: 'the next time that is to be fired' },
    ...(shard === null
      ? []
      : [
          {
            atMs: shard.grantedAtMs,
            text: `shard ${shard.shard} was granted to ${shard.node ?? 'nobody'} with epoch ${shard.epoch}`,
          },
        ]),
  ];
  return {
    verdict: 'due',
    text: `It has been due for ${latency(lateMs)} and was not fired yet: its shard has no owner, or its node, Redis or PostgreSQL is unavailable.`,
    evidence,
  };
}

/**
 * Explains a time that the schedule passed over without a record: an edit or a resume counts from its own moment on.
 */
function withoutReason({ changes }: ExplainFacts, then: Then, nominalAtMs: number): Explained {
  const later = changes.find(({ atMs, change }) => atMs > nominalAtMs && (change === 'edited' || change === 'paused'));
  if (later === undefined) {
    const text = 'There is no record of it, although it was a time of the schedule as far as is known.';
    return {
      verdict: 'unknown',
      text,
      evidence: then.by === null ? [] : [{ atMs: then.by.atMs, text: then.by.change }],
    };
  }
  return {
    verdict: 'unknown',
    text: `There is no record of it: the schedule was ${later.change} at ${instant(later.atMs)}, before it was fired, and nothing is caught up after that.`,
    evidence: [{ atMs: later.atMs, text: `${later.change} (generation ${later.generation})` }],
  };
}

function answer(
  { record, schedule, changes }: ExplainFacts,
  calendar: Calendar,
  verdict: Verdict,
  text: string,
  evidence: readonly Evidence[],
): Explanation {
  const deletedAt = schedule === null ? changes.findLast(({ change }) => change === 'deleted') : undefined;
  const gone = deletedAt === undefined ? [] : [{ atMs: deletedAt.atMs, text: 'the schedule was deleted' }];
  const all = [...evidence, ...gone].sort((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0));
  return { verdict, text, ...calendar, messageId: record?.id ?? null, evidence: all };
}
