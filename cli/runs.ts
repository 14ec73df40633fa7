/** `carillon runs` and `carillon run`: did it run, and what did it do. */
import type { Command } from 'commander';
import type {
  FailedAttemptShown,
  RunCountsShown,
  RunDetailShown,
  RunPageShown,
  RunShown,
} from '../src/api/run-schemas.js';
import { formatDuration } from '../src/domain/duration.js';
import { usageError } from './io.js';
import { pagesFrom } from './pages.js';
import { collect } from './request-options.js';
import { first, type Runner, type Session } from './session.js';
import { fields, type Column } from './table.js';
import { oneLine, safeLines } from './text.js';
import { exactTime, time } from './times.js';

interface RunsOptions {
  readonly schedule?: readonly string[];
  readonly key?: readonly string[];
  readonly label?: readonly string[];
  readonly state?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly occurrence?: string;
  readonly count: string;
  readonly cursor?: string;
  readonly summary?: true;
}

const DEFAULT_COUNT = 50;
/** What the API gives at once. */
const PAGE_MAX = 1_000;

export function addRuns(program: Command, run: Runner): void {
  program
    .command('runs')
    .description('the record, latest due first')
    .option('-s, --schedule <id>', 'of this schedule; repeatable', collect)
    .option('-k, --key <key>', 'of this idempotency key; repeatable', collect)
    .option('-l, --label <label>', 'with this label; repeatable', collect)
    .option('--state <state>', 'pending, delivered, failed, canceled or skipped; repeatable', collect)
    .option('--from <time>', 'due from this time or date on')
    .option('--to <time>', 'due up to this time or date')
    .option('--occurrence <time>', "a schedule's occurrence of exactly this nominal time")
    .option('-n, --count <number>', 'at most so many', String(DEFAULT_COUNT))
    .option('--cursor <cursor>', 'go on where the list before ended')
    .option('--summary', 'only how many there are in each state')
    .action(run(runs));
  program.command('run <messageId>').description('all that is known of one run').action(run(detail));
}

async function runs(session: Session, options: RunsOptions): Promise<void> {
  const { schedule, key, label, state, from, to, occurrence } = options;
  const filter = { schedule, key, label, state, from, to, occurrence };
  if (options.summary === true) {
    await summary(session, filter);
    return;
  }
  const page = await collectRuns(session, filter, readCount(options.count), options.cursor);
  session.show(page, () => {
    if (page.cursor !== undefined) session.remark(`there are more: --cursor ${page.cursor}`);
    return session.table(columns(session), page.runs, 'no runs');
  });
}

type Filter = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Page by page: one may have fewer runs than it was asked for and still not be the last. */
async function collectRuns(
  session: Session,
  filter: Filter,
  count: number,
  from: string | undefined,
): Promise<{ runs: RunShown[]; cursor?: string }> {
  const found: RunShown[] = [];
  let cursor: string | undefined;
  const read = async (after: string | undefined): Promise<RunPageShown> => {
    const query = { ...filter, count: String(Math.min(count - found.length, PAGE_MAX)), cursor: after };
    return (await session.api.call('GET', '/v2/runs', { query })) as RunPageShown;
  };
  for await (const page of pagesFrom(read, from)) {
    found.push(...page.runs);
    cursor = page.cursor;
    if (found.length >= count) break;
  }
  return cursor === undefined ? { runs: found } : { runs: found, cursor };
}

async function summary(session: Session, query: Filter): Promise<void> {
  const counts = (await session.api.call('GET', '/v2/runs/counts', { query })) as RunCountsShown;
  session.show(counts, () =>
    session.table(
      [
        { title: 'STATE', cell: ([state]) => state, paint: session.paintState },
        { title: 'RUNS', cell: ([, count]) => String(count), align: 'right' },
      ],
      Object.entries(counts),
      'no runs',
    ),
  );
}

function columns(session: Session): Column<RunShown>[] {
  return [
    { title: 'DUE', cell: (run) => time(run.dueAt, session.zone), drop: 9 },
    { title: 'STATE', cell: (run) => run.state, paint: session.paintState },
    { title: 'STATUS', cell: (run) => String(run.status ?? ''), align: 'right', drop: 8 },
    { title: 'LATE', cell: (run) => late(run) ?? '', align: 'right', drop: 2 },
    { title: 'TRIES', cell: (run) => String(run.attempts), align: 'right', drop: 1 },
    { title: 'SCHEDULE', cell: (run) => run.scheduleId ?? '', min: 8, drop: 7 },
    { title: 'KEY', cell: (run) => run.key ?? '', min: 8, drop: 4 },
    { title: 'NOTE', cell: note, min: 8, drop: 5 },
    { title: 'DESTINATION', cell: (run) => run.destination, min: 12, drop: 3 },
    { title: 'MESSAGE', cell: (run) => run.messageId },
  ];
}

function note(run: RunShown): string {
  if (run.reason !== undefined) return run.reason;
  if (run.state !== 'delivered' && run.error !== undefined) return run.error;
  return run.kind === 'message' || run.kind === 'occurrence' ? '' : run.kind;
}

async function detail(session: Session, _options: unknown, operands: readonly string[]): Promise<void> {
  const run = (await session.api.call('GET', `/v2/runs/${encodeURIComponent(first(operands))}`)) as RunDetailShown;
  session.show(run, () => [runText(run, session), attemptsText(run, session), answerText(run)].join(''));
}

function runText(run: RunDetailShown, { zone }: Session): string {
  return fields([
    ['message', run.messageId],
    ['kind', run.kind],
    ['state', run.state],
    ['reason', run.reason],
    ['schedule', run.scheduleId],
    ['occurrence', exactTime(run.occurrence, zone)],
    ['covers until', exactTime(run.coversUntil, zone)],
    ['key', run.key],
    ['labels', run.labels?.join(', ')],
    ['due', exactTime(run.dueAt, zone)],
    ['created', exactTime(run.createdAt, zone)],
    ['started', exactTime(run.startedAt, zone)],
    ['ended', exactTime(run.endedAt, zone)],
    ['late', late(run)],
    ['next attempt', exactTime(run.nextAttemptAt, zone)],
    ['attempts', `${run.attempts} of at most ${run.maxRetries + 1}`],
    ['status', run.status],
    ['error', run.error],
    ['destination', `${run.method} ${run.destination}`],
    ['timeout', formatDuration(run.timeoutMs)],
    ['node', run.node],
    ['dead letter', run.dlqId],
    ['source', run.sourceMessageId],
  ]);
}

function attemptsText({ failedAttempts }: RunDetailShown, session: Session): string {
  if (failedAttempts.length === 0) return '';
  const columns: Column<FailedAttemptShown>[] = [
    { title: 'FAILED', cell: ({ attempt }) => String(attempt), align: 'right' },
    { title: 'STARTED', cell: ({ startedAt }) => exactTime(startedAt, session.zone) ?? '' },
    { title: 'STATUS', cell: ({ status }) => String(status ?? ''), align: 'right', drop: 2 },
    { title: 'ERROR', cell: ({ error = '' }) => oneLine(error), min: 12, drop: 3 },
    { title: 'TRIED AGAIN', cell: ({ nextAttemptAt }) => exactTime(nextAttemptAt, session.zone) ?? '', drop: 1 },
  ];
  return `\n${session.table(columns, failedAttempts, '')}`;
}

/** The first bytes of what the receiver answered. */
function answerText({ response }: RunDetailShown): string {
  if (response?.body !== undefined) return `\nanswer:\n${safeLines(response.body).join('\n')}\n`;
  if (response?.bodyBase64 === undefined) return '';
  return `\nanswer: ${Buffer.from(response.bodyBase64, 'base64').length} bytes that are no text (--json shows them)\n`;
}

function late({ latenessMs }: RunShown): string | undefined {
  return latenessMs === undefined ? undefined : formatDuration(Math.max(0, latenessMs));
}

export function readCount(text: string): number {
  const count = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (count >= 1) return count;
  throw usageError(`--count is ${JSON.stringify(text.slice(0, 40))}, expected a whole number from 1`);
}
