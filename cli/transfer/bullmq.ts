/** The import of BullMQ's job schedulers, one on each line, as `queue.getJobSchedulers()` gives them. */
import { Type } from '@sinclair/typebox';
import { isSaid, readFields, refusedField } from './fields.js';
import { anchorOf } from './grid.js';
import { isScheduleId } from '../../src/domain/ids.js';
import { readIsoInstant } from '../../src/domain/instant.js';
import { fillTemplate, hashOf, jsonObject, LineError, present, type LineReader } from './items.js';

const Time = Type.Union([Type.Number(), Type.String()]);

const Scheduler = Type.Object({
  key: Type.String(),
  name: Type.String(),
  pattern: Type.String(),
  every: Type.Union([Type.Number(), Type.String({ pattern: '^\\d{1,15}$' })]),
  offset: Type.Integer(),
  tz: Type.String(),
  startDate: Time,
  endDate: Time,
  next: Type.Integer(),
  prevMillis: Type.Integer(),
  immediately: Type.Boolean(),
  template: Type.Unknown(),
});
/** How often it has run so far. */
const SCHEDULER_REMARKS = ['iterationCount', 'count'];

const Template = Type.Object({ name: Type.String(), data: Type.Unknown(), opts: Type.Unknown() });

const JobOptions = Type.Object({
  attempts: Type.Integer({ minimum: 1 }),
  backoff: Type.Union([
    Type.Number({ minimum: 0 }),
    Type.Object(
      { type: Type.String(), delay: Type.Optional(Type.Number({ minimum: 0 })) },
      { additionalProperties: false },
    ),
  ]),
  delay: Type.Number(),
  priority: Type.Number(),
});
/** How long BullMQ keeps what has ended, and how much it notes of it. */
const JOB_REMARKS = ['removeOnComplete', 'removeOnFail', 'keepLogs', 'stackTraceLimit'];

/** `template` makes the destination of {name} and {key}. */
export function bullmqReader(template: string): LineReader {
  return (text) => {
    if (text.trim() === '') return null;
    const given = jsonObject(text);
    if (isSaid(given.limit)) {
      throw refusedField('limit', given.limit, 'schedules end at a time (Carillon-End), not after a number of jobs');
    }
    const scheduler = readFields(given, Scheduler, SCHEDULER_REMARKS);
    const { key, pattern, tz } = scheduler;
    if (key === undefined) {
      throw new LineError('"key" is missing, expected a job scheduler as getJobSchedulers() gives it');
    }
    if (scheduler.immediately === true) {
      throw refusedField('immediately', true, 'a schedule fires at its times; trigger it by hand once it is there');
    }
    const job = readFields(scheduler.template, Template, [], 'template.');
    const name = scheduler.name ?? job.name ?? key;
    return {
      destination: fillTemplate(template, { name, key }),
      headers: present({
        ...calendarOf(scheduler),
        'Upstash-Schedule-Id': isScheduleId(key) ? key : `bullmq_${hashOf(key)}`,
        'Carillon-Time-Zone': pattern === undefined ? undefined : tz,
        'Carillon-Start': instantOf('startDate', scheduler.startDate),
        'Carillon-End': instantOf('endDate', scheduler.endDate),
        ...retriesOf(job.opts),
        'Content-Type': 'application/json',
      }),
      body: JSON.stringify(job.data ?? {}),
    };
  };
}

type Calendar = Partial<Record<'every' | 'pattern' | 'offset' | 'next' | 'prevMillis' | 'startDate', unknown>>;

function calendarOf({ pattern, every, offset, next, prevMillis, startDate }: Calendar): Record<string, unknown> {
  if (pattern !== undefined && every !== undefined) throw refusedField('every', every, 'there is a pattern too');
  if (pattern !== undefined) {
    if (isSaid(offset) && offset !== 0) throw refusedField('offset', offset, 'a pattern has no counterpart of it here');
    return { 'Upstash-Cron': pattern };
  }
  const ms = Number(every);
  if (!Number.isInteger(ms) || ms < 1_000 || ms % 1_000 !== 0) {
    throw refusedField('every', every, 'expected a pattern, or whole seconds in milliseconds');
  }
  const cron = `@every ${ms / 1_000}s`;
  // Its own times are those of the epoch's grid moved by the offset; one that has none goes on from where it began.
  const begun = [next, prevMillis, startDate].find((time) => typeof time === 'number');
  const onGridMs = typeof offset === 'number' && offset > 0 ? (offset % ms) + ms : (begun ?? ms);
  return { 'Upstash-Cron': cron, ...anchorOf(cron, Math.max(0, onGridMs)) };
}

function retriesOf(options: unknown): Record<string, unknown> {
  const { attempts = 1, backoff, delay, priority } = readFields(options, JobOptions, JOB_REMARKS, 'template.opts.');
  for (const [name, value] of Object.entries({ delay, priority })) {
    if (value !== undefined && value !== 0) {
      throw refusedField(`template.opts.${name}`, value, 'it has no counterpart here; take it out if it can go');
    }
  }
  return { 'Upstash-Retries': attempts - 1, 'Upstash-Retry-Delay': retryDelayOf(backoff) };
}

function retryDelayOf(backoff: number | { type: string; delay?: number } | undefined): string | undefined {
  if (backoff === undefined) return undefined;
  const { type, delay = 0 } = typeof backoff === 'number' ? { type: 'fixed', delay: backoff } : backoff;
  if (type === 'fixed') return String(delay);
  if (type === 'exponential') return `${delay} * pow(2, retried)`;
  throw refusedField('template.opts.backoff.type', type, 'expected fixed or exponential');
}

/** The last time that a Date can hold; the API judges what is too late for it. */
const MAX_AT_MS = 8.64e15;

function instantOf(name: string, value: unknown): string | undefined {
  if (!isSaid(value)) return undefined;
  const read = typeof value === 'number' ? { atMs: value } : readIsoInstant(typeof value === 'string' ? value : '');
  if ('atMs' in read && Math.abs(read.atMs) <= MAX_AT_MS) return new Date(read.atMs).toISOString();
  const why = 'why' in read && read.why !== '' ? `; ${read.why}` : '';
  throw refusedField(name, value, `expected ISO 8601 with Z or its offset, or milliseconds${why}`);
}
