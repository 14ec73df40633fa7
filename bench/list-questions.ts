/** What the console (web/) asks of a node when a view is opened, filtered and turned: each request as the page makes it. */
import { writeCursor } from '../src/api/cursor.js';
import { messageIdFloor } from '../src/domain/ids.js';
import { FILLED_FAMILY, scheduleId } from './clone-rows.js';
import type { Marked } from './list-rows.js';

export interface Question {
  readonly view: 'schedules' | 'schedule' | 'messages' | 'message' | 'letters' | 'tenants';
  readonly what: string;
  /** The target; `cursor` is that of the answer before ('' for the first question, and after the last page). */
  readonly ask: (cursor: string) => string;
  /** The member of the answer with its rows; '' where the answer is one. */
  readonly rows: string;
  /** None: nothing is like that. Any: they may come with a later page. */
  readonly expect: 'rows' | 'any' | 'none';
  /** A click of its own, which may take its time. */
  readonly isCount?: true;
}

/** What the questions are about. */
export interface Asked extends Marked {
  /** Schedules of the filled table, and how many of them have a history. */
  readonly schedules: number;
  readonly withHistory: number;
  readonly nowMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HALF_YEAR_MS = 182 * DAY_MS;
/** As web/api has it. */
const PAGE = '50';
const LETTERS_PAGE = '100';
const TIMELINE = { runs: '200', times: '100', gaps: '8' };
const LATEST_RUNS = '15';
const ABSENT = 'nothing-has-this';

export function questionsOf(asked: Asked): Question[] {
  return [...schedules(asked), ...oneSchedule(asked), ...messages(asked), ...letters(asked), TENANTS];
}

const TENANTS: Question = {
  view: 'tenants',
  what: 'the tenants',
  ask: () => '/admin/tenants',
  rows: '',
  expect: 'rows',
};

function schedules({ label, host, schedules: all }: Asked): Question[] {
  const middle = writeCursor('schedules', [scheduleId(FILLED_FAMILY, Math.floor(all / 2))]);
  const list = (what: string, filter: Filter, expect: Question['expect'] = 'rows'): Question => ({
    ...{ view: 'schedules', what, rows: 'schedules', expect },
    ask: () => target('/v2/schedules', { ...valuesOf(filter), count: PAGE }),
  });
  return [
    list('the first page', {}),
    {
      ...list('page by page from the middle', {}),
      ask: (cursor) => target('/v2/schedules', { count: PAGE, cursor: cursor === '' ? middle : cursor }),
    },
    list('ids that begin so', () => ({ idPrefix: scheduleId(FILLED_FAMILY, random(all)).slice(0, -2) })),
    list('active', { state: 'active' }),
    list('paused', { state: 'paused' }),
    list('ended', { state: 'ended' }, 'none'),
    list('of the host that all have', { host: new URL(host).hostname }),
    list('of a host that none has', { host: `${ABSENT}.test` }, 'none'),
    list('of a host, paused', { host: new URL(host).hostname, state: 'paused' }, 'any'),
    list('with a label', { label }),
    list('with a label, paused', { label, state: 'paused' }),
    list('with a label that none has', { label: ABSENT }, 'none'),
    list('a text that many have', { search: 'NOWHERE' }),
    list('a text that one has', () => ({ search: scheduleId(FILLED_FAMILY, random(all)).slice(1) }), 'any'),
    list('a text that none has', { search: ABSENT }, 'none'),
  ];
}

function oneSchedule({ withHistory, nowMs, busy }: Asked): Question[] {
  const one = (what: string, ask: (path: string, id: string) => string, rows: string): Question => ({
    ...{ view: 'schedule', what, rows, expect: 'rows' },
    ask: () => {
      const id = scheduleId(FILLED_FAMILY, random(withHistory));
      return ask(`/v2/schedules/${id}`, id);
    },
  });
  const yearMs = 365 * DAY_MS;
  const times = (what: string, fromMs: number, count: string): Question =>
    one(what, (path) => target(`${path}/next`, { from: String(fromMs), count }), 'times');
  const { from, to } = { from: String(nowMs - yearMs), to: String(nowMs + yearMs) };
  return [
    one('itself', (path) => path, ''),
    times('its usual gap', nowMs, TIMELINE.gaps),
    one(
      'timeline: its runs',
      (_, schedule) => target('/v2/runs', { schedule, from, to, count: TIMELINE.runs }),
      'runs',
    ),
    times('timeline: its times before now', nowMs - yearMs, TIMELINE.times),
    one(
      'its latest runs',
      (_, schedule) => target('/v2/runs', { schedule, to: String(nowMs), count: LATEST_RUNS }),
      'runs',
    ),
    one(
      'explain a day',
      (path) => target(`${path}/explain`, { at: new Date(nowMs - random(14) * DAY_MS).toISOString() }),
      '',
    ),
    one(
      'explain a moment of one with many runs',
      () => target(`/v2/schedules/${busy}/explain`, { at: new Date(nowMs - 20 * HOUR_MS).toISOString() }),
      '',
    ),
  ];
}

function messages(asked: Asked): Question[] {
  const { nowMs, label, keys, host, letterUrls, messageIds, withHistory, busy } = asked;
  const now = String(nowMs);
  const list = (what: string, filter: Filter, expect: Question['expect'] = 'rows'): Question => ({
    ...{ view: 'messages', what, rows: 'runs', expect },
    ask: () => target('/v2/runs', { to: now, ...valuesOf(filter), count: PAGE }),
  });
  const chain = (what: string, filter: Values, start: string): Question => ({
    ...list(what, filter),
    ask: (cursor) => target('/v2/runs', { ...filter, count: PAGE, cursor: cursor === '' ? start : cursor }),
  });
  const day = { from: String(nowMs - DAY_MS) };
  return [
    list('until now', {}),
    list('in the last hour', { from: String(nowMs - HOUR_MS) }),
    list('in the last week', { from: String(nowMs - 7 * DAY_MS) }),
    list('from now on', { from: now, to: '' }),
    list('whenever', { to: '' }),
    chain('page by page into the past', { to: now }, writeCursor('runs', [messageIdFloor(nowMs - 2 * DAY_MS)])),
    chain('page by page from half a year ahead', {}, writeCursor('runs', [messageIdFloor(nowMs + HALF_YEAR_MS)])),
    list('delivered', { state: 'delivered' }),
    list('failed', { state: 'failed' }),
    list('pending, until now', { state: 'pending' }, 'any'),
    list('pending, whenever', { state: 'pending', to: '' }),
    list('canceled or skipped, of which there is none', { state: 'canceled,skipped' }, 'none'),
    list('to a host', { host: new URL(host).host }),
    list('to a host that none has', { host: `${ABSENT}.test` }, 'none'),
    list('to a whole URL', () => ({ url: letterUrls[random(letterUrls.length)] ?? '' })),
    list('of a schedule', () => ({ schedule: scheduleId(FILLED_FAMILY, random(withHistory)) })),
    list('of a schedule with many runs', { schedule: busy }),
    list('of a schedule with many runs, failed', { schedule: busy, state: 'failed' }, 'none'),
    list('with a key', () => ({ key: keys[random(keys.length)] ?? '' })),
    list('with a key that none has', { key: ABSENT }, 'none'),
    list('with a key that none has, in the last day', { key: ABSENT, ...day }, 'none'),
    list('with a label', { label }),
    list('with a label, delivered, in the last day', { label, state: 'delivered', ...day }),
    list('with a label that none has', { label: ABSENT }, 'none'),
    {
      ...list('counted, of the last hour', {}),
      ...{ rows: '', isCount: true },
      ask: () => target('/v2/runs/counts', { from: String(nowMs - HOUR_MS), to: now }),
    },
    {
      ...{ view: 'message', what: 'one message', rows: '', expect: 'rows' },
      ask: () => `/v2/runs/${messageIds[random(messageIds.length)] ?? ''}`,
    },
  ];
}

function letters({ letterUrls }: Asked): Question[] {
  const list = (what: string, filter: Filter, expect: Question['expect'] = 'rows'): Question => ({
    ...{ view: 'letters', what, rows: 'messages', expect },
    ask: (cursor) => target('/v2/dlq', { ...valuesOf(filter), count: LETTERS_PAGE, cursor }),
  });
  const first = (question: Question): Question => ({ ...question, ask: () => question.ask('') });
  return [
    {
      ...{ view: 'letters', what: 'by destination and error', rows: 'groups', expect: 'rows' },
      ask: () => target('/admin/dlq/groups', { tenant: 'default' }),
    },
    first(list('the latest', {})),
    list('page by page', {}),
    first(list('of a whole URL', () => ({ url: letterUrls[random(letterUrls.length)] ?? '' }))),
    first(list('answered with 503', { responseStatus: '503' })),
    first(list('of a URL that none has', { url: `https://${ABSENT}.test/` }, 'none')),
    first(list('answered as none is', { responseStatus: '418' }, 'none')),
  ];
}

type Values = Readonly<Record<string, string>>;
/** Chosen anew for each question, or always the same. */
type Filter = Values | (() => Values);

function valuesOf(filter: Filter): Values {
  return typeof filter === 'function' ? filter() : filter;
}

function target(path: string, query: Values): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

function random(below: number): number {
  return Math.floor(Math.random() * below);
}
