/** The formats of an import whose lines are a service's own JSON: ours, and QStash's schedules. */
import { Type } from '@sinclair/typebox';
import { isSaid, readFields, refusedField } from './fields.js';
import { anchorOf } from './grid.js';
import { jsonObject, LineError, present, type Item, type LineReader } from './items.js';

const HeaderValue = Type.Union([Type.String(), Type.Array(Type.String()), Type.Number(), Type.Boolean(), Type.Null()]);

const OwnItem = Type.Object({
  destination: Type.String(),
  headers: Type.Record(Type.String(), HeaderValue),
  body: Type.String(),
  bodyBase64: Type.String(),
  paused: Type.Boolean(),
  queue: Type.String(),
});

/**
 * Lines as `carillon export` writes them: items of the batches as they are. The API judges what is in them, and refuses members that it does not
 * know.
 */
export const readOwnLine: LineReader = (text) => {
  if (text.trim() === '') return null;
  const given = jsonObject(text);
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(OwnItem.properties, name));
  const { destination, headers = {}, ...rest } = readFields(given, OwnItem, unknown);
  if (destination === undefined) throw new LineError('"destination" is missing, expected a URL');
  const unsent = Object.keys(headers).find((name) => !/^(?:upstash-|carillon-|content-type$)/i.test(name));
  if (unsent !== undefined) {
    throw refusedField(`headers.${unsent}`, headers[unsent], 'it is no setting; Upstash-Forward- before it sends it');
  }
  const strange = Object.fromEntries(unknown.map((name) => [name, given[name]]));
  return { ...strange, ...rest, destination, headers: headers } satisfies Item;
};

const QstashSchedule = Type.Object({
  scheduleId: Type.String(),
  cron: Type.String(),
  destination: Type.String(),
  method: Type.String(),
  header: Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())])),
  body: Type.String(),
  bodyBase64: Type.String(),
  retries: Type.Integer(),
  retryDelayExpression: Type.String(),
  delay: Type.Union([Type.Number(), Type.String()]),
  timeout: Type.Union([Type.Number(), Type.String()]),
  callback: Type.String(),
  failureCallback: Type.String(),
  label: Type.String(),
  labels: Type.Array(Type.String()),
  isPaused: Type.Boolean(),
  createdAt: Type.Integer(),
  lastScheduleTime: Type.Integer(),
  nextScheduleTime: Type.Integer(),
});
/** What QStash tells of a schedule that is not about what it does. */
const QSTASH_REMARKS = ['lastScheduleStates', 'callerIP', 'error'];

/** Lines as `GET /v2/schedules` of QStash answers, one schedule on each. */
export const readQstashLine: LineReader = (text) => {
  if (text.trim() === '') return null;
  const schedule = readFields(jsonObject(text), QstashSchedule, QSTASH_REMARKS);
  const { scheduleId, cron, destination, header = {}, body, bodyBase64 } = schedule;
  if (cron === undefined || destination === undefined || scheduleId === undefined) {
    throw new LineError('scheduleId, cron and destination are expected, as GET /v2/schedules of QStash gives them');
  }
  const labels = [...new Set([...(schedule.label === undefined ? [] : [schedule.label]), ...(schedule.labels ?? [])])];
  return {
    destination,
    headers: present({
      'Upstash-Cron': cron,
      'Upstash-Schedule-Id': scheduleId,
      ...anchorOf(cron, schedule.nextScheduleTime ?? schedule.lastScheduleTime ?? schedule.createdAt),
      'Upstash-Method': schedule.method,
      'Upstash-Retries': schedule.retries,
      'Upstash-Retry-Delay': schedule.retryDelayExpression,
      'Upstash-Delay': seconds(schedule.delay),
      'Upstash-Timeout': seconds(schedule.timeout),
      'Upstash-Callback': schedule.callback,
      'Upstash-Failure-Callback': schedule.failureCallback,
      'Upstash-Label': labels.join(','),
      ...Object.fromEntries(Object.entries(header).map(([name, values]) => [`Upstash-Forward-${name}`, values])),
    }),
    ...(body !== undefined && { body }),
    ...(bodyBase64 !== undefined && { bodyBase64 }),
    ...(schedule.isPaused === true && { paused: true }),
  };
};

function seconds(value: number | string | undefined): string | undefined {
  if (!isSaid(value) || value === 0) return undefined;
  return typeof value === 'number' ? `${value}s` : value;
}
