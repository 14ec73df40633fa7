// Turns a request with Upstash-Cron into a schedule's id and definition.

import type { Config } from '../config.js';
import type { RandomBytes } from '../domain/clock.js';
import type { CronExpression } from '../domain/cron/expression.js';
import { ianaName } from '../domain/cron/zone-names.js';
import { DAY_MS, parseDuration } from '../domain/duration.js';
import { CarillonError } from '../domain/errors.js';
import { checkScheduleId, generatedScheduleId, ID_RANDOM_BYTES } from '../domain/ids.js';
import { parseKeyTemplate } from '../domain/key-template.js';
import { parseMisfire } from '../domain/misfire.js';
import { DEFAULT_OVERLAP, parseOverlap } from '../domain/overlap.js';
import { givenExpression } from '../domain/schedule-change.js';
import type { ScheduleDefinition } from '../domain/schedule.js';
import { readDeduplicationId, readDelayMs, readFlag, readPolicy, readRequest, valueOf } from './delivery-headers.js';
import { contentHash, shortHash } from './content-hash.js';
import { parseInstant } from './instant.js';
import type { RequestSettings } from './request-settings.js';

/** Settings without meaning for a single message. */
export const SCHEDULE_ONLY_SETTINGS = [
  'Carillon-Misfire',
  'Carillon-Overlap',
  'Carillon-Window',
  'Carillon-Start',
  'Carillon-End',
  'Carillon-Anchor',
  'Carillon-Time-Zone',
  'Carillon-Keep',
] as const;

/** Longest spread window. */
const WINDOW_MAX_MS = DAY_MS;

export interface ScheduleSource {
  /** Checked by checkDestination. */
  readonly destination: string;
  readonly settings: RequestSettings;
  readonly body: Buffer;
  readonly callerIp: string | null;
  /** Whether the caller handles Carillon-Keep; otherwise the setting is refused. */
  readonly mayKeep?: boolean;
}

/** Returns the definition. Throws INVALID_CRON, INVALID_REQUEST and whatever the settings of messages throw. */
export function readDefinition(source: ScheduleSource, config: Config): ScheduleDefinition {
  const { settings } = source;
  const cron = valueOf(settings, 'Upstash-Cron');
  if (cron === null) {
    throw new CarillonError('INVALID_CRON', 'Upstash-Cron is missing, expected a cron expression such as "0 2 * * *"');
  }
  if (valueOf(settings, 'Upstash-Not-Before') !== null) {
    throw new CarillonError(
      'INVALID_REQUEST',
      'Upstash-Not-Before is not allowed on a schedule; Carillon-Start says from when on it fires',
    );
  }
  if (source.mayKeep !== true && valueOf(settings, 'Carillon-Keep') !== null) {
    throw new CarillonError(
      'INVALID_REQUEST',
      'Carillon-Keep is for a single schedule that is edited, not for a batch',
    );
  }
  const zoneName = valueOf(settings, 'Carillon-Time-Zone');
  const timeZone = zoneName === null ? null : ianaName(zoneName);
  const { kind } = givenExpression({ cron, timeZone });
  const misfire = valueOf(settings, 'Carillon-Misfire');
  const { policy, windowMs } = misfire === null ? defaultMisfire(config) : readMisfire(misfire, config);
  return {
    ...readRequest(settings, source.destination, source.body, config),
    ...readPolicy(settings, config, source.callerIp),
    cron,
    timeZone,
    delayMs: readDelayMs(settings, 'Upstash-Delay', config) ?? 0,
    misfire: policy,
    misfireWindowMs: windowMs,
    overlap: readOverlap(settings),
    windowMs: readWindowMs(settings),
    ...readBounds(settings),
    anchorMs: readAnchor(settings, kind),
    keyTemplate: readKeyTemplate(settings),
  };
}

/**
 * Returns the id of the schedule that a request creates or replaces. Without Upstash-Schedule-Id it is random, or, when
 * the request asks for deduplication, derived from the deduplication id or content: the same request then names the
 * same schedule while that exists, and a new one once it is deleted. Throws INVALID_REQUEST.
 */
export function readScheduleId(settings: RequestSettings, definition: ScheduleDefinition, random: RandomBytes): string {
  const scheduleId = valueOf(settings, 'Upstash-Schedule-Id');
  const deduplicationId = readDeduplicationId(settings);
  const byContent = readFlag(settings, 'Upstash-Content-Based-Deduplication');
  if (scheduleId !== null) return checkScheduleId(scheduleId);
  if (deduplicationId !== null) return `scd_${shortHash(`deduplication\n${deduplicationId}`)}`;
  if (byContent) return `scd_${shortHash(`content\n${contentHash(definition, definition.cron)}`)}`;
  return generatedScheduleId(random(ID_RANDOM_BYTES));
}

function defaultMisfire(config: Config): ReturnType<typeof parseMisfire> {
  return { policy: 'once', windowMs: config.CARILLON_MISFIRE_WINDOW_MS };
}

/** Parses a misfire policy; `all` without a window takes the configured one. */
function readMisfire(text: string, config: Config): ReturnType<typeof parseMisfire> {
  const read = parseMisfire(text);
  return text.includes(';') ? read : { ...read, windowMs: config.CARILLON_MISFIRE_WINDOW_MS };
}

function readOverlap(settings: RequestSettings): ScheduleDefinition['overlap'] {
  const text = valueOf(settings, 'Carillon-Overlap');
  return text === null ? DEFAULT_OVERLAP : parseOverlap(text);
}

function readWindowMs(settings: RequestSettings): number {
  const text = valueOf(settings, 'Carillon-Window');
  return text === null ? 0 : parseDuration(text, 'Carillon-Window', { maxMs: WINDOW_MAX_MS });
}

function readBounds(settings: RequestSettings): Pick<ScheduleDefinition, 'startAtMs' | 'endAtMs'> {
  const start = valueOf(settings, 'Carillon-Start');
  const end = valueOf(settings, 'Carillon-End');
  const startAtMs = start === null ? null : parseInstant(start, 'Carillon-Start', 'seconds');
  const endAtMs = end === null ? null : parseInstant(end, 'Carillon-End', 'seconds');
  if (startAtMs !== null && endAtMs !== null && endAtMs < startAtMs) {
    throw new CarillonError('INVALID_REQUEST', 'Carillon-End is before Carillon-Start');
  }
  return { startAtMs, endAtMs };
}

function readAnchor(settings: RequestSettings, kind: CronExpression['kind']): number | null {
  const text = valueOf(settings, 'Carillon-Anchor');
  if (text === null) return null;
  if (kind === 'interval') return parseInstant(text, 'Carillon-Anchor', 'seconds');
  throw new CarillonError('INVALID_REQUEST', 'Carillon-Anchor belongs to "@every …"; a calendar needs no beginning');
}

function readKeyTemplate(settings: RequestSettings): string | null {
  const text = valueOf(settings, 'Carillon-Idempotency-Key');
  if (text === null || parseKeyTemplate(text).usesOccurrence) return text;
  throw new CarillonError(
    'INVALID_REQUEST',
    `Carillon-Idempotency-Key is ${JSON.stringify(text.slice(0, 80))} on a schedule: every occurrence would have the same key, so that only the first one would run; name the occurrence in it, for example {yyyy-MM-dd} or {occurrence}`,
  );
}
