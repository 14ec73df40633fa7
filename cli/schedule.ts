/** `carillon schedule …`: recurring work, from its definition to its next times. */
import type { Command } from 'commander';
import type { ScheduleShown } from '../src/api/schedule-schema.js';
import { formatDuration } from '../src/domain/duration.js';
import { timesText, type Times } from './calendar.js';
import {
  addRequestOptions,
  destinationPath,
  readBody,
  requestHeaders,
  type RequestOptions,
} from './request-options.js';
import { first, type Runner, type Session } from './session.js';
import { line, safeLines } from './text.js';
import { fields, type Column } from './table.js';
import { exactTime, time } from './times.js';

interface CreateOptions extends RequestOptions {
  readonly cron: string;
  readonly id?: string;
  readonly timeZone?: string;
  readonly misfire?: string;
  readonly overlap?: string;
  readonly window?: string;
  readonly start?: string;
  readonly end?: string;
}

const CREATE_HEADERS = [
  ['cron', 'Upstash-Cron'],
  ['id', 'Upstash-Schedule-Id'],
  ['timeZone', 'Carillon-Time-Zone'],
  ['misfire', 'Carillon-Misfire'],
  ['overlap', 'Carillon-Overlap'],
  ['window', 'Carillon-Window'],
  ['start', 'Carillon-Start'],
  ['end', 'Carillon-End'],
] as const satisfies readonly (readonly [keyof CreateOptions, string])[];

/** How many times a new schedule is shown with. */
const SHOWN_TIMES = 3;

export function addSchedule(program: Command, run: Runner): void {
  const group = program.command('schedule').description('recurring work');
  const create = group
    .command('create <url>')
    .description('create a schedule, or replace the one of this id')
    .requiredOption('-c, --cron <expression>', 'five fields, six with seconds first, @daily, "@every 90s"')
    .option('--id <id>', 'letters, digits, "-", "_", "."; random when not given')
    .option('-z, --time-zone <zone>', 'IANA zone of the expression (default UTC)')
    .option('--misfire <policy>', 'occurrences that nobody could fire in time: skip, once, all or "all; window=6h"')
    .option('--overlap <policy>', 'while the occurrence before is not done: allow, skip or queue')
    .option('--window <duration>', 'spread over this time, at a fixed place for each schedule')
    .option('--start <time>', 'no occurrence before')
    .option('--end <time>', 'no occurrence after');
  addRequestOptions(create, 'key of its occurrences, such as "invoice:{yyyy-MM}:acme"').action(run(createSchedule));
  group.command('list').description('all schedules').action(run(list));
  group.command('get <id>').description('one schedule').action(run(get));
  for (const [action, about] of ACTIONS) {
    group
      .command(`${action} <id>`)
      .description(about)
      .action(run(switchTo(action)));
  }
  group.command('delete <id>').description('delete a schedule; what it has sent stays').action(run(remove));
  group.command('trigger <id>').description('run a schedule now, beside its occurrences').action(run(trigger));
  group
    .command('next <id>')
    .description('its next times')
    .option('-n, --count <number>', 'how many (default 10)')
    .option('--from <time>', 'later than this (default now)')
    .action(run(next));
}

const ACTIONS = [
  ['pause', 'pause a schedule; what falls into the pause does not happen'],
  ['resume', 'resume a schedule with its next occurrence from now'],
] as const;

async function createSchedule(session: Session, options: CreateOptions, operands: readonly string[]): Promise<void> {
  const path = `/v2/schedules/${destinationPath(first(operands))}`;
  const body = await readBody(options, session.io);
  const headers = requestHeaders(options, body);
  for (const [name, header] of CREATE_HEADERS) {
    const value = options[name];
    if (value !== undefined) headers.push([header, value]);
  }
  const answer = (await session.api.call('POST', path, { headers, ...(body && { body }) })) as ScheduleShown;
  await session.showWith(answer, async () => {
    const query = { count: String(SHOWN_TIMES) };
    const times = (await session.api.call('GET', `${pathOf(answer.scheduleId)}/next`, { query })) as Times;
    return `saved ${answer.scheduleId}\n\n${timesText(times, session)}`;
  });
}

async function list(session: Session): Promise<void> {
  const schedules = (await session.api.call('GET', '/v2/schedules')) as ScheduleShown[];
  session.show(schedules, () => session.table(columns(session), schedules, 'no schedules'));
}

function columns(session: Session): Column<ScheduleShown>[] {
  return [
    { title: 'ID', cell: (schedule) => schedule.scheduleId },
    { title: 'STATE', cell: (schedule) => schedule.state, paint: session.paintState },
    { title: 'CRON', cell: (schedule) => schedule.cron, min: 9, drop: 5 },
    { title: 'ZONE', cell: (schedule) => schedule.timeZone ?? '', min: 8, drop: 2 },
    { title: 'NEXT', cell: (schedule) => time(schedule.nextScheduleTime, session.zone), drop: 4 },
    { title: 'LAST', cell: (schedule) => time(schedule.lastScheduleTime, session.zone), drop: 1 },
    { title: 'DESTINATION', cell: (schedule) => schedule.destination, min: 16, drop: 3 },
  ];
}

async function get(session: Session, _options: unknown, operands: readonly string[]): Promise<void> {
  const schedule = (await session.api.call('GET', pathOf(first(operands)))) as ScheduleShown;
  session.show(schedule, () => scheduleText(schedule, session));
}

function scheduleText(schedule: ScheduleShown, { zone }: Session): string {
  const headers = Object.entries(schedule.header).map(([name, values]) => `${name}: ${values.join(', ')}`);
  const base64 = schedule.bodyBase64;
  const text = fields([
    ['id', schedule.scheduleId],
    ['state', schedule.state],
    ['cron', schedule.cron],
    ['time zone', schedule.timeZone],
    ['next', exactTime(schedule.nextScheduleTime, zone)],
    ['last', exactTime(schedule.lastScheduleTime, zone)],
    ['start', exactTime(schedule.start, zone)],
    ['end', exactTime(schedule.end, zone)],
    [
      'misfire',
      schedule.misfire + (schedule.misfireWindow === undefined ? '' : `; window=${ms(schedule.misfireWindow)}`),
    ],
    ['overlap', schedule.overlap],
    ['window', ms(schedule.window)],
    ['key', schedule.idempotencyKey],
    ['destination', `${schedule.method} ${schedule.destination}`],
    ['headers', headers.join('; ')],
    ['labels', schedule.labels?.join(', ')],
    ['delay', schedule.delay === undefined ? undefined : ms(schedule.delay * 1_000)],
    ['timeout', ms(schedule.timeout)],
    ['retries', schedule.retries],
    ['retry delay', schedule.retryDelayExpression],
    ['callback', schedule.callback],
    ['failure callback', schedule.failureCallback],
    ['created', exactTime(schedule.createdAt, zone)],
    ['generation', schedule.generation],
    ['body', base64 === undefined ? undefined : `${Buffer.from(base64, 'base64').length} bytes that are no text`],
  ]);
  return schedule.body === undefined ? text : `${text}\n${safeLines(schedule.body).join('\n')}\n`;
}

function ms(durationMs: number | undefined): string | undefined {
  return durationMs === undefined ? undefined : formatDuration(durationMs);
}

function switchTo(action: 'pause' | 'resume') {
  return async (session: Session, _options: unknown, operands: readonly string[]): Promise<void> => {
    const answer = (await session.api.call('PATCH', `${pathOf(first(operands))}/${action}`)) as {
      scheduleId: string;
      isPaused: boolean;
    };
    session.show(answer, () => line`${answer.scheduleId} is ${answer.isPaused ? 'paused' : 'not paused'}`);
  };
}

async function remove(session: Session, _options: unknown, operands: readonly string[]): Promise<void> {
  const answer = (await session.api.call('DELETE', pathOf(first(operands)))) as ScheduleShown;
  session.show(answer, () => line`deleted ${answer.scheduleId}`);
}

async function trigger(session: Session, _options: unknown, operands: readonly string[]): Promise<void> {
  const answer = (await session.api.call('POST', `${pathOf(first(operands))}/trigger`)) as { messageId: string };
  session.show(answer, () => line`${answer.messageId}  a run by hand of ${first(operands)}`);
}

interface NextOptions {
  readonly count?: string;
  readonly from?: string;
}

async function next(session: Session, { count, from }: NextOptions, operands: readonly string[]): Promise<void> {
  const times = (await session.api.call('GET', `${pathOf(first(operands))}/next`, { query: { count, from } })) as Times;
  session.show(times, () => timesText(times, session));
}

function pathOf(id: string): string {
  return `/v2/schedules/${encodeURIComponent(id)}`;
}
