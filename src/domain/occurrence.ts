// Plans the messages of a due schedule: which occurrences to publish, skip or let wait, and what each one contains.

import { depthOf, withDepth } from './depth.js';
import { invariant } from './errors.js';
import { messageId, occurrenceMessageId } from './ids.js';
import { expandKeyTemplate, parseKeyTemplate } from './key-template.js';
import type { Message } from './message.js';
import { planFire } from './misfire.js';
import { expressionOf } from './schedule-change.js';
import type { Schedule } from './schedule.js';
import { shardOfMessage } from './shard.js';
import { spreadOffsetMs } from './spread-window.js';

export interface OccurrenceSettings {
  readonly misfireGraceMs: number;
  /** Most occurrences of one schedule in one step. */
  readonly maxOccurrences: number;
  /** Most occurrences that wait for the one before (overlap policy "queue"). */
  readonly maxWaiting: number;
}

const OVERLAP = 'overlap';
const OVERLAP_FULL = 'overlap: too many are waiting';
const KEY_HELD = 'idempotency key ';

/**
 * Reasons for skipping occurrences that were due and not fired yet when their schedule was changed. The change log uses
 * the same words.
 */
export const CHANGE_REASONS = ['edited', 'paused', 'deleted'] as const;
export type ChangeReason = (typeof CHANGE_REASONS)[number];

/** Kinds of reasons for skipping an occurrence, without the keys and messages in their texts. */
export const SKIP_KINDS = ['misfire', 'overlap', 'overlap_full', 'key_held', ...CHANGE_REASONS] as const;

/** Returns the kind of the reason on a skipped occurrence's record. */
export function skipKind(reason: string): (typeof SKIP_KINDS)[number] {
  if (reason === OVERLAP) return 'overlap';
  if (reason === OVERLAP_FULL) return 'overlap_full';
  if (reason.startsWith(KEY_HELD)) return 'key_held';
  return CHANGE_REASONS.find((change) => change === reason) ?? 'misfire';
}

/**
 * Returns the reason for skipping an occurrence whose work another message has done; `holder` is the message with its
 * key.
 */
export function keyHeldReason(key: string, holder: string): string {
  return `${KEY_HELD}"${key}" is held by ${holder}`;
}

/** The known state of a schedule's unfinished occurrences. */
export interface Unfinished {
  readonly underWay: boolean;
  readonly waiting: number;
}

export interface PlannedMessage {
  readonly message: Message;
  /** Whether it waits for the occurrence before it. */
  readonly held: boolean;
  readonly skipped: { readonly reason: string; readonly coversUntilMs: number | null } | null;
}

export interface OccurrencePlan {
  readonly occurrences: readonly PlannedMessage[];
  /** Null when no occurrence is left. May be in the past when there is more to catch up than one step plans. */
  readonly nextFireAtMs: number | null;
  readonly lastFireAtMs: number;
}

/**
 * Plans the occurrences of an active schedule from its next fire time up to now, by its misfire and overlap policies.
 */
export function planOccurrences(
  schedule: Schedule,
  unfinished: Unfinished,
  settings: OccurrenceSettings,
  nowMs: number,
): OccurrencePlan {
  const { nextFireAtMs } = schedule;
  invariant(nextFireAtMs !== null, `schedule ${schedule.id} is planned without a next fire time`);
  const plan = planFire({
    expression: expressionOf(schedule),
    anchorMs: schedule.anchorMs,
    nextFireAtMs,
    nowMs,
    misfire: { policy: schedule.misfire, windowMs: schedule.misfireWindowMs },
    misfireGraceMs: settings.misfireGraceMs,
    startAtMs: schedule.startAtMs,
    endAtMs: schedule.endAtMs,
    maxOccurrences: settings.maxOccurrences,
  });
  let { underWay, waiting } = unfinished;
  const occurrences = plan.occurrences.map((occurrence): PlannedMessage => {
    const message = occurrenceMessage(schedule, occurrence.atMs, nowMs);
    if (occurrence.action === 'skip') {
      const coversUntilMs = occurrence.coversUntilMs ?? null;
      return { message, held: false, skipped: { reason: occurrence.reason, coversUntilMs } };
    }
    if (underWay && schedule.overlap === 'skip') return skipped(message, OVERLAP);
    if (underWay && schedule.overlap === 'queue') {
      if (waiting >= settings.maxWaiting) return skipped(message, OVERLAP_FULL);
      waiting += 1;
      return { message, held: true, skipped: null };
    }
    underWay = schedule.overlap !== 'allow';
    return { message, held: false, skipped: null };
  });
  const last = plan.occurrences.at(-1);
  const lastAtMs =
    last === undefined ? nextFireAtMs : last.action === 'skip' ? (last.coversUntilMs ?? last.atMs) : last.atMs;
  return { occurrences, nextFireAtMs: plan.nextFireAtMs, lastFireAtMs: lastAtMs };
}

function skipped(message: Message, reason: string): PlannedMessage {
  return { message, held: false, skipped: { reason, coversUntilMs: null } };
}

/**
 * Returns the message of the occurrence at a nominal time, due after the schedule's offset in its spread window and its
 * delay.
 */
export function occurrenceMessage(schedule: Schedule, occurrenceAtMs: number, nowMs: number): Message {
  const offsetMs = spreadOffsetMs(String(schedule.tenantId), schedule.id, schedule.windowMs);
  const dueAtMs = occurrenceAtMs + offsetMs + schedule.delayMs;
  return {
    ...fromSchedule(schedule),
    id: occurrenceMessageId(schedule.tenantId, schedule.id, occurrenceAtMs, dueAtMs),
    shard: schedule.shard,
    kind: 'occurrence',
    occurrenceAtMs,
    idempotencyKey: keyOf(schedule, occurrenceAtMs),
    overlap: schedule.overlap === 'allow' ? null : schedule.overlap,
    dueAtMs,
    createdAtMs: nowMs,
  };
}

/**
 * Returns the message of a manual run: due now, not one of the schedule's times, without the occurrences' keys and
 * policies. `depth` is the depth of the request.
 */
export function manualMessage(
  schedule: Schedule,
  nowMs: number,
  random: Uint8Array,
  shards: number,
  depth = 0,
): Message {
  const id = messageId(nowMs, random);
  return {
    ...fromSchedule(schedule),
    id,
    shard: shardOfMessage(id, shards),
    kind: 'manual',
    occurrenceAtMs: null,
    idempotencyKey: null,
    overlap: null,
    dueAtMs: nowMs,
    createdAtMs: nowMs,
    ...withDepth(Math.max(depthOf(schedule), depth)),
  };
}

function fromSchedule(schedule: Schedule) {
  return {
    tenantId: schedule.tenantId,
    scheduleId: schedule.id,
    sourceId: null,
    destination: schedule.destination,
    method: schedule.method,
    headers: schedule.headers,
    body: schedule.body,
    maxRetries: schedule.maxRetries,
    retryDelay: schedule.retryDelay,
    timeoutMs: schedule.timeoutMs,
    callback: schedule.callback,
    failureCallback: schedule.failureCallback,
    labels: schedule.labels,
    redact: schedule.redact,
    callerIp: schedule.callerIp,
    ...withDepth(depthOf(schedule)),
  };
}

function keyOf(schedule: Schedule, occurrenceAtMs: number): string | null {
  if (schedule.keyTemplate === null) return null;
  return expandKeyTemplate(parseKeyTemplate(schedule.keyTemplate), occurrenceAtMs, expressionOf(schedule).zone);
}
