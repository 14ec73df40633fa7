// What the schedule form holds, and what it becomes: the API's settings. What was not touched is kept by the API itself, since the page
// does not see all of it: redacted bodies, settings of callbacks.

import type { Schedule } from '../../api/answer-types.js';

export interface Draft {
  readonly id: string;
  readonly destination: string;
  readonly method: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly body: string;
  /** `Name: value` lines. */
  readonly headers: string;
  readonly retries: string;
  readonly retryDelay: string;
  readonly timeout: string;
  readonly delay: string;
  readonly misfire: Schedule['misfire'];
  readonly misfireWindow: string;
  readonly overlap: Schedule['overlap'];
  readonly window: string;
  readonly start: string;
  readonly end: string;
  readonly labels: string;
  readonly callback: string;
  readonly failureCallback: string;
  readonly key: string;
}

export const EMPTY: Draft = {
  id: '',
  destination: '',
  method: 'POST',
  cron: '',
  timeZone: '',
  body: '',
  headers: '',
  retries: '',
  retryDelay: '',
  timeout: '',
  delay: '',
  misfire: 'once',
  misfireWindow: '',
  overlap: 'allow',
  window: '',
  start: '',
  end: '',
  labels: '',
  callback: '',
  failureCallback: '',
  key: '',
};

export function draftOf(schedule: Schedule): Draft {
  const { start, end, delay = 0, window = 0, misfireWindow } = schedule;
  return {
    id: schedule.scheduleId,
    destination: schedule.destination,
    method: schedule.method,
    cron: schedule.cron,
    timeZone: schedule.timeZone ?? '',
    body: schedule.body ?? '',
    headers: headerLines(schedule.header),
    retries: String(schedule.retries),
    retryDelay: schedule.retryDelayExpression ?? '',
    timeout: milliseconds(schedule.timeout),
    delay: delay === 0 ? '' : milliseconds(1_000 * delay),
    misfire: schedule.misfire,
    misfireWindow: misfireWindow === undefined ? '' : milliseconds(misfireWindow),
    overlap: schedule.overlap,
    window: window === 0 ? '' : milliseconds(window),
    start: start === undefined ? '' : new Date(start).toISOString(),
    end: end === undefined ? '' : new Date(end).toISOString(),
    labels: (schedule.labels ?? []).join(', '),
    callback: schedule.callback ?? '',
    failureCallback: schedule.failureCallback ?? '',
    key: schedule.idempotencyKey ?? '',
  };
}

/** The settings that make this draft; `before` is what an edit began with. */
export function settingsOf(draft: Draft, before: Draft | null): Record<string, string> {
  const misfire =
    draft.misfire === 'all' && draft.misfireWindow !== '' ? `all; window=${draft.misfireWindow}` : draft.misfire;
  const kept = keptParts(draft, before);
  const isKept = (part: string): boolean => kept.includes(part);
  const settings: Record<string, string> = {
    'Upstash-Schedule-Id': draft.id,
    'Upstash-Cron': draft.cron,
    'Upstash-Method': draft.method,
    'Upstash-Retries': draft.retries,
    'Upstash-Retry-Delay': draft.retryDelay,
    'Upstash-Timeout': draft.timeout,
    'Upstash-Delay': draft.delay,
    'Upstash-Label': draft.labels,
    'Upstash-Callback': isKept('callback') ? '' : draft.callback,
    'Upstash-Failure-Callback': isKept('failure-callback') ? '' : draft.failureCallback,
    'Carillon-Time-Zone': draft.timeZone,
    'Carillon-Misfire': misfire,
    'Carillon-Overlap': draft.overlap,
    'Carillon-Window': draft.window,
    'Carillon-Start': draft.start,
    'Carillon-End': draft.end,
    'Carillon-Idempotency-Key': draft.key,
    'Carillon-Keep': kept.join(', '),
    ...(isKept('headers') ? {} : forwarded(draft.headers)),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value.trim() !== ''));
}

/** Parts of an edited schedule that stay as they are stored, seen or not. */
function keptParts(draft: Draft, before: Draft | null): string[] {
  if (before === null) return [];
  const same = (name: keyof Draft): boolean => draft[name] === before[name];
  return [
    ...(same('body') ? ['body'] : []),
    ...(same('headers') ? ['headers'] : []),
    ...(same('callback') ? ['callback'] : []),
    ...(same('failureCallback') ? ['failure-callback'] : []),
    'redact',
  ];
}

function headerLines(headers: Schedule['header']): string {
  return Object.entries(headers)
    .flatMap(([name, values]) => values.map((value) => `${name}: ${value}`))
    .join('\n');
}

function forwarded(lines: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of lines.split('\n')) {
    const [, name = '', value = ''] = /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === '') continue;
    const setting = `Upstash-Forward-${name}`;
    // Browsers send one line for a name; a comma means the same.
    found[setting] = setting in found ? `${found[setting] ?? ''}, ${value}` : value;
  }
  return found;
}

/** A line that is no header, for the form to complain about; '' when all are. */
export function badHeaderLine(lines: string): string {
  return (
    lines.split('\n').find((line) => line.trim() !== '' && !/^\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*:/.test(line)) ?? ''
  );
}

/** As the API reads durations: days to seconds, whole. */
function milliseconds(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
  ] as const;
  const [name, unit] = units.find(([, size]) => ms % size === 0 && ms >= size) ?? ['s', 1_000];
  return `${ms / unit}${name}`;
}
