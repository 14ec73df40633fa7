/** `carillon cron`: when an expression would fire, before anything is saved. */
import type { Command } from 'commander';
import { usageError } from './io.js';
import { first, type Runner, type Session } from './session.js';
import { exactTime } from './times.js';

/** Answer of the calendar routes. */
export interface Times {
  readonly times: readonly { readonly utc: string; readonly local: string; readonly dst: 'gap' | 'overlap' | null }[];
  readonly dayRule: 'or' | 'and' | null;
}

const NOTES = {
  gap: 'the clock skips this time: it comes right after',
  overlap: 'the clock shows this time twice',
} as const;

const DAY_RULES = {
  or: 'day of month or day of week: either is enough',
  and: 'day of month and day of week: both must fit',
} as const;

interface CronOptions {
  readonly timeZone?: string;
  readonly from?: string;
  readonly count?: string;
}

export function addCron(program: Command, run: Runner): void {
  program
    .command('cron <expression>')
    .description('when an expression would fire, clock changes included')
    .option('-z, --time-zone <zone>', 'IANA zone (default UTC)')
    .option('-n, --count <number>', 'how many times (default 10)')
    .option('--from <time>', 'later than this (default now)')
    .action(run(preview));
}

async function preview(session: Session, options: CronOptions, operands: readonly string[]): Promise<void> {
  const { timeZone, from, count } = options;
  if (count !== undefined && !/^\d+$/.test(count)) throw usageError(`--count is "${count}", expected a whole number`);
  const json = { cron: first(operands), timeZone, from, count: count === undefined ? undefined : Number(count) };
  const times = (await session.api.call('POST', '/v2/cron/preview', { json })) as Times;
  session.show(times, () => timesText(times, session));
}

export function timesText({ times, dayRule }: Times, session: Session): string {
  const isUtc = session.zone === 'utc' && times.every(({ local }) => local.endsWith('+00:00'));
  const text = session.table(
    [
      { title: session.zone === 'utc' ? 'UTC' : 'HERE', cell: ({ utc }) => exactTime(utc, session.zone) ?? '' },
      { title: 'BY ITS OWN CLOCK', cell: ({ local }) => (isUtc ? '' : local), drop: 2 },
      { title: 'NOTE', cell: ({ dst }) => (dst === null ? '' : NOTES[dst]), min: 12, drop: 1 },
    ],
    times,
    'no time is left',
  );
  return dayRule === null ? text : `${text}${DAY_RULES[dayRule]}\n`;
}
