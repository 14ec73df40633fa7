/** The formats of an import whose lines are JSON: our own, QStash's schedules, and BullMQ's job schedulers. */
import { isScheduleId } from '../../../src/domain/ids.js';
import { readIsoInstant } from '../../../src/domain/instant.js';
import { hashOf, fillTemplate, jsonObject, LineFault, type Headers, type Item, type LineReader } from './items.js';

/** Lines as `carillon export` writes them: items of the batches as they are. The API judges what is in them. */
export const readOwnLine: LineReader = (text) => {
  if (text.trim() === '') return null;
  const item = jsonObject(text);
  const { headers = {} } = item;
  if (typeof item.destination !== 'string') throw new LineFault('"destination" is missing, expected a URL');
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
    throw new LineFault('"headers" is no object, expected header names and strings');
  }
  return { ...item, headers: headers as Headers } as unknown as Item;
};

/** What QStash tells of a schedule that is not about what it does. */
const QSTASH_REMARKS = new Set([
  ...[
    'createdAt',
    'lastScheduleTime',
    'nextScheduleTime',
    'lastScheduleStates',
    'callerIP',
    'error',
    'label',
    'timeout',
  ],
]);
const QSTASH_KNOWN = new Set([
  ...['scheduleId', 'cron', 'destination', 'method', 'header', 'body', 'bodyBase64', 'retries', 'delay', 'callback'],
  ...['failureCallback', 'retryDelayExpression', 'labels', 'isPaused'],
]);

/** Lines as `GET /v2/schedules` of QStash answers, one schedule on each. */
export const readQstashLine: LineReader = (text) => {
  if (text.trim() === '') return null;
  const schedule = jsonObject(text);
  for (const [name, value] of Object.entries(schedule)) {
    if (QSTASH_KNOWN.has(name) || QSTASH_REMARKS.has(name) || value === null || value === '') continue;
    throw new LineFault(`"${name}" has no counterpart here; take it out if the schedule can do without it`);
  }
  const { scheduleId, cron, destination, header = {}, delay } = schedule;
  if (typeof cron !== 'string' || typeof destination !== 'string' || typeof scheduleId !== 'string') {
    throw new LineFault('scheduleId, cron and destination are expected, as GET /v2/schedules of QStash gives them');
  }
  const labels = Array.isArray(schedule.labels) ? schedule.labels.join(',') : schedule.label;
  return {
    destination,
    headers: present({
      'Upstash-Cron': cron,
      'Upstash-Schedule-Id': scheduleId,
      'Upstash-Method': schedule.method,
      'Upstash-Retries': schedule.retries,
      'Upstash-Retry-Delay': schedule.retryDelayExpression,
      'Upstash-Delay': typeof delay === 'number' ? `${delay}s` : delay,
      'Upstash-Callback': schedule.callback,
      'Upstash-Failure-Callback': schedule.failureCallback,
      'Upstash-Label': labels,
      ...Object.fromEntries(
        Object.entries(header as object).map(([name, values]) => [`Upstash-Forward-${name}`, values]),
      ),
    }),
    ...(typeof schedule.body === 'string' && { body: schedule.body }),
    ...(typeof schedule.bodyBase64 === 'string' && { bodyBase64: schedule.bodyBase64 }),
    ...(schedule.isPaused === true && { paused: true }),
  };
};

/** Lines as `queue.getJobSchedulers()` of BullMQ gives them, one on each. `template` makes the destination of {name} and {key}. */
export function bullmqReader(template: string): LineReader {
  return (text) => {
    if (text.trim() === '') return null;
    const scheduler = jsonObject(text);
    const { key, name, pattern, every, tz, limit, startDate, endDate } = scheduler;
    if (typeof key !== 'string')
      throw new LineFault('"key" is missing, expected a job scheduler as getJobSchedulers() gives it');
    if (limit !== undefined && limit !== null) {
      throw new LineFault('"limit": schedules end at a time (Carillon-End) and not after a number of jobs');
    }
    const { data, opts } = objectOr(scheduler.template);
    const attempts = Number(objectOr(opts).attempts ?? 1);
    return {
      destination: fillTemplate(template, { name: typeof name === 'string' ? name : key, key }),
      headers: present({
        'Upstash-Cron': typeof pattern === 'string' ? pattern : everyText(every),
        'Upstash-Schedule-Id': isScheduleId(key) ? key : `bullmq_${hashOf(key)}`,
        'Carillon-Time-Zone': typeof pattern === 'string' ? tz : undefined,
        'Carillon-Start': instantOf(startDate),
        'Carillon-End': instantOf(endDate),
        'Upstash-Retries': attempts - 1,
        'Content-Type': 'application/json',
      }),
      body: JSON.stringify(data ?? {}),
    };
  };
}

function everyText(every: unknown): string {
  const ms = Number(every);
  if (Number.isInteger(ms) && ms >= 1_000 && ms % 1_000 === 0) return `@every ${ms / 1_000}s`;
  throw new LineFault(`"every" is ${shownOf(every)}, expected a pattern, or whole seconds in milliseconds`);
}

/** The last time that a Date can hold; the API judges what is too late for it. */
const MAX_AT_MS = 8.64e15;

function instantOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const read = typeof value === 'number' ? { atMs: value } : readIsoInstant(typeof value === 'string' ? value : '');
  if ('atMs' in read && Math.abs(read.atMs) <= MAX_AT_MS) return new Date(read.atMs).toISOString();
  const why = 'why' in read && read.why !== '' ? `; ${read.why}` : '';
  throw new LineFault(`${shownOf(value)} is no time, expected ISO 8601 with Z or its offset, or milliseconds${why}`);
}

function shownOf(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}

function objectOr(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Without those that are not there. */
function present(headers: Readonly<Record<string, unknown>>): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  ) as Headers;
}
