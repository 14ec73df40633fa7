/** `carillon dlq …`: what failed for good is read, sent again, or taken off the list. */
import type { Command } from 'commander';
import type { DeadLetterShown } from '../src/api/message-schemas.js';
import { CliError, usageError } from './io.js';
import { pagesFrom, type Paged } from './pages.js';
import { collect } from './request-options.js';
import { readCount } from './runs.js';
import { first, type Runner, type Session } from './session.js';
import { fields } from './table.js';
import { line, safeLines } from './text.js';
import { exactTime, time } from './times.js';

interface DlqFilterOptions {
  readonly schedule?: readonly string[];
  readonly label?: readonly string[];
  readonly destination?: readonly string[];
  readonly status?: readonly string[];
  readonly from?: string;
  readonly to?: string;
}

interface ListOptions extends DlqFilterOptions {
  readonly count: string;
  readonly cursor?: string;
}

interface BulkOptions extends DlqFilterOptions {
  readonly all?: true;
}

const PAGE_MAX = 100;
const BULK_PAGE = '500';

export function addDlq(program: Command, run: Runner): void {
  const group = program.command('dlq').description('dead letters: what failed for good');
  filtered(group.command('list').description('the latest first'))
    .option('-n, --count <number>', 'at most so many', String(PAGE_MAX))
    .option('--cursor <cursor>', 'go on where the list before ended')
    .action(run(list));
  group.command('get <dlqId>').description('one of them').action(run(get));
  filtered(group.command('retry [dlqIds...]').description('send again: these, all, or those that fit'))
    .option('--all', 'every one')
    .action(run(bulk(RETRY)));
  filtered(group.command('delete [dlqIds...]').description('take off the list; the record stays'))
    .option('--all', 'every one')
    .action(run(bulk(DELETE)));
}

function filtered(command: Command): Command {
  return command
    .option('-s, --schedule <id>', 'of this schedule; repeatable', collect)
    .option('-l, --label <label>', 'with this label; repeatable', collect)
    .option('--destination <url>', 'for this destination; repeatable', collect)
    .option('--status <status>', 'whose last answer was this, 0 for none; repeatable', collect)
    .option('--from <time>', 'failed from this time or date on')
    .option('--to <time>', 'failed up to this time or date');
}

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

function queryOf({ schedule, label, destination, status, from, to }: DlqFilterOptions): Query {
  return { scheduleId: schedule, label, url: destination, responseStatus: status, fromDate: from, toDate: to };
}

interface LetterPage extends Paged {
  readonly messages: readonly DeadLetterShown[];
}

async function list(session: Session, options: ListOptions): Promise<void> {
  const count = readCount(options.count);
  const messages: DeadLetterShown[] = [];
  let cursor: string | undefined;
  const read = async (from: string | undefined): Promise<LetterPage> => {
    const query = { ...queryOf(options), count: String(Math.min(count - messages.length, PAGE_MAX)), cursor: from };
    return (await session.api.call('GET', '/v2/dlq', { query })) as LetterPage;
  };
  for await (const page of pagesFrom(read, options.cursor)) {
    messages.push(...page.messages);
    cursor = page.cursor;
    if (messages.length >= count) break;
  }
  const answer = cursor === undefined ? { messages } : { messages, cursor };
  session.show(answer, () => {
    if (cursor !== undefined) session.remark(`there are more: --cursor ${cursor}`);
    return listText(messages, session);
  });
}

function listText(deadLetters: readonly DeadLetterShown[], session: Session): string {
  return session.table(
    [
      { title: 'FAILED', cell: (letter) => time(failedAtMs(letter), session.zone), drop: 5 },
      { title: 'STATUS', cell: ({ responseStatus }) => String(responseStatus), align: 'right', drop: 4 },
      { title: 'SCHEDULE', cell: ({ scheduleId = '' }) => scheduleId, min: 8, drop: 3 },
      { title: 'ERROR', cell: ({ responseError = '' }) => responseError, min: 8, drop: 2 },
      { title: 'DESTINATION', cell: ({ url }) => url, min: 12, drop: 1 },
      { title: 'DEAD LETTER', cell: ({ dlqId }) => dlqId },
    ],
    deadLetters,
    'no dead letters',
  );
}

/** A dead letter's id begins with the time of its failure. */
function failedAtMs({ dlqId }: DeadLetterShown): number {
  return Number(dlqId.split('-')[0]);
}

async function get(session: Session, _options: unknown, operands: readonly string[]): Promise<void> {
  const letter = (await session.api.call('GET', `/v2/dlq/${encodeURIComponent(first(operands))}`)) as DeadLetterShown;
  session.show(letter, () => letterText(letter, session));
}

function letterText(letter: DeadLetterShown, { zone }: Session): string {
  const answer = letter.responseBody;
  const base64 = letter.bodyBase64;
  const text = fields([
    ['dead letter', letter.dlqId],
    ['message', letter.messageId],
    ['failed', exactTime(failedAtMs(letter), zone)],
    ['due', exactTime(letter.notBefore, zone)],
    ['created', exactTime(letter.createdAt, zone)],
    ['schedule', letter.scheduleId],
    ['labels', letter.labels?.join(', ')],
    ['destination', `${letter.method} ${letter.url}`],
    ['retries', letter.maxRetries],
    ['status', letter.responseStatus],
    ['error', letter.responseError],
    ['body', base64 === undefined ? undefined : `${Buffer.from(base64, 'base64').length} bytes that are no text`],
  ]);
  const part = (title: string, body: string | undefined): string =>
    body === undefined ? '' : `\n${title}:\n${safeLines(body).join('\n')}\n`;
  return text + part('body', letter.body) + part('answer', answer);
}

interface Bulk {
  readonly method: string;
  readonly path: string;
  readonly onePath: string;
  /** How many an answer says were handled. */
  readonly handled: (answer: Handled) => number;
  /** Several answers as one. */
  readonly join: (answers: readonly Handled[]) => Handled;
  readonly done: string;
}

interface Handled extends Paged {
  readonly deleted?: number;
  readonly responses?: readonly { readonly messageId: string }[];
  readonly messageId?: string;
}

const RETRY: Bulk = {
  method: 'POST',
  path: '/v2/dlq/retry',
  onePath: '/v2/dlq/retry',
  handled: ({ responses, messageId }) => responses?.length ?? (messageId === undefined ? 0 : 1),
  join: (answers) => ({ responses: answers.flatMap(({ responses = [] }) => responses) }),
  done: 'sent again',
};

const DELETE: Bulk = {
  method: 'DELETE',
  path: '/v2/dlq',
  onePath: '/v2/dlq',
  handled: ({ deleted = 0 }) => deleted,
  join: (answers) => ({ deleted: answers.reduce((sum, { deleted = 0 }) => sum + deleted, 0) }),
  done: 'deleted',
};

function bulk(kind: Bulk) {
  return async (session: Session, options: BulkOptions, dlqIds: readonly string[]): Promise<void> => {
    const query = queryOf(options);
    const isFiltered = Object.values(query).some((value) => value !== undefined);
    if (dlqIds.length > 0 && (options.all === true || isFiltered)) {
      throw usageError('give ids, or --all, or filters; not ids and the others');
    }
    if (dlqIds.length === 0 && options.all !== true && !isFiltered) {
      throw usageError('which? give ids, or --all, or a filter such as --schedule');
    }
    const answer = dlqIds.length > 0 ? await handleIds(session, kind, dlqIds) : await handlePages(session, kind, query);
    const handled = kind.handled(answer);
    const ids = [...(answer.responses ?? []), answer].flatMap(({ messageId }) => messageId ?? []);
    session.show(answer, () => `${ids.map((id) => line`${id}`).join('')}${kind.done}: ${handled}\n`);
    const missed = dlqIds.length - handled;
    if (missed > 0) throw new CliError(`${missed} of ${dlqIds.length} are no dead letters (any more)`, 1);
  };
}

async function handleIds({ api }: Session, kind: Bulk, dlqIds: readonly string[]): Promise<Handled> {
  const [only] = dlqIds;
  if (dlqIds.length === 1) {
    return (await api.call(kind.method, `${kind.onePath}/${encodeURIComponent(only ?? '')}`)) as Handled;
  }
  return (await api.call(kind.method, kind.path, { json: { dlqIds, count: BULK_PAGE } })) as Handled;
}

async function handlePages({ api }: Session, kind: Bulk, query: Query): Promise<Handled> {
  const answers: Handled[] = [];
  const handle = async (cursor: string | undefined): Promise<Handled> =>
    (await api.call(kind.method, kind.path, { query: { ...query, count: BULK_PAGE, cursor } })) as Handled;
  for await (const page of pagesFrom(handle)) answers.push(page);
  return kind.join(answers);
}
