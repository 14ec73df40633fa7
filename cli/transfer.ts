/** `carillon import` and `carillon export`: many schedules and messages, from files and into them. */
import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import { Option, type Command } from 'commander';
import { printableJson } from '../src/domain/printable.js';
import { CliError, usageError } from './io.js';
import { pagesFrom, type Paged } from './pages.js';
import { first, type Runner, type Session } from './session.js';
import { crontabReader } from './transfer/crontab.js';
import { bullmqReader } from './transfer/bullmq.js';
import { readOwnLine, readQstashLine } from './transfer/formats.js';
import { Importer, type ImportTotals } from './transfer/importer.js';
import type { LineReader } from './transfer/items.js';
import { readLines } from './transfer/lines.js';
import { Progress } from './transfer/progress.js';

interface ImportOptions {
  readonly crontab?: true;
  readonly qstash?: true;
  readonly bullmq?: true;
  readonly destinationTemplate?: string;
  readonly timeZone?: string;
  readonly userField?: true;
  readonly fromLine: string;
  readonly batch: string;
  readonly patience: string;
  readonly refused?: string;
  readonly dryRun?: true;
}

interface ExportOptions {
  readonly output?: string;
}

const BATCH_MAX = 10_000;

export function addTransfer(program: Command, run: Runner): void {
  program
    .command('import <file>')
    .description(
      'create the schedules and messages of a file (- for the standard input), one on each line; may be repeated',
    )
    .addOption(
      new Option('--crontab', 'a crontab: each line becomes a call that asks your receiver to run its command'),
    )
    .addOption(new Option('--qstash', "QStash's schedules, one on each line").conflicts('crontab'))
    .addOption(new Option('--bullmq', "BullMQ's job schedulers, one on each line").conflicts(['crontab', 'qstash']))
    .option(
      '--destination-template <url>',
      'what to call: with {command} or {name} of a crontab, {name} or {key} of BullMQ',
    )
    .option('-z, --time-zone <zone>', "IANA zone of a crontab's times, where it has no CRON_TZ")
    .option('--user-field', 'the crontab has a user before each command, as /etc/crontab')
    .option('--from-line <number>', 'begin here, as an import that was interrupted has said', '1')
    .option('--batch <number>', 'lines in one request', '1000')
    .option('--patience <seconds>', 'how long to wait for a Carillon that is unavailable', '60')
    .option('--refused <file>', 'write the lines that were refused, with the reason')
    .option('--dry-run', 'print what would be sent, and send nothing')
    .action(run(importFile));
  program
    .command('export [what]')
    .description('write schedules, messages that wait, or (all) both, as import takes them')
    .option('-o, --output <file>', 'write into this file instead of the standard output')
    .action(run(exportAll));
}

async function importFile(session: Session, options: ImportOptions, operands: readonly string[]): Promise<void> {
  const file = first(operands);
  const read = readerFor(options);
  const fromLine = numberOf(options.fromLine, '--from-line', 1, Number.MAX_SAFE_INTEGER);
  const batch = numberOf(options.batch, '--batch', 1, BATCH_MAX);
  const patienceMs = 1_000 * numberOf(options.patience, '--patience', 0, 86_400);
  const source = await readLines(file, session.io);
  const refused = options.refused === undefined ? null : createWriteStream(options.refused);
  const interrupt = new AbortController();
  const stop = (): void => interrupt.abort();
  process.once('SIGINT', stop);
  const importer = new Importer(options.dryRun === true ? null : session.api, session.io, {
    ...{ fromLine, batch, patienceMs, isStopped: () => interrupt.signal.aborted },
    onRefused: (refusal) => void refused?.write(`${JSON.stringify(refusal)}\n`),
    ...(options.dryRun === true && { onItem: (item) => session.io.json(item) }),
  });
  try {
    await importer.run(source, read);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    throw new CliError(`${error.message}; ${goOn(file, importer.nextLine)}`, error.exitCode);
  } finally {
    process.off('SIGINT', stop);
    await ended(refused);
  }
  if (options.dryRun !== true) session.show(importer.totals, () => `${summary(importer.totals)}\n`);
  if (interrupt.signal.aborted) throw new CliError(`interrupted; ${goOn(file, importer.nextLine)}`, 1);
  const { refused: count } = importer.totals;
  if (count > 0) throw new CliError(`${count} ${count === 1 ? 'line was' : 'lines were'} refused`, 1);
}

function readerFor(options: ImportOptions): LineReader {
  const { destinationTemplate: template, timeZone, userField } = options;
  const needsTemplate = options.crontab === true || options.bullmq === true;
  if (needsTemplate !== (template !== undefined)) {
    throw usageError('--destination-template <url> belongs to --crontab and --bullmq, which need it');
  }
  if (options.crontab !== true && (timeZone !== undefined || userField === true)) {
    throw usageError('--time-zone and --user-field belong to --crontab');
  }
  if (options.crontab === true) {
    return crontabReader({ template: template ?? '', timeZone: timeZone ?? null, hasUser: userField === true });
  }
  if (options.bullmq === true) return bullmqReader(template ?? '');
  return options.qstash === true ? readQstashLine : readOwnLine;
}

function numberOf(text: string, name: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw usageError(`${name} is ${JSON.stringify(text)}, expected a whole number from ${min} to ${max}`);
}

function goOn(file: string, line: number): string {
  return `lines before ${line} are done: go on with --from-line ${line} ${file} (beginning anew does no harm)`;
}

function summary(totals: ImportTotals): string {
  const { lines, created, edited, unchanged, messages, deduplicated, refused } = totals;
  const parts = [
    ...(created + edited + unchanged > 0
      ? [`schedules: ${created} created, ${edited} edited, ${unchanged} unchanged`]
      : []),
    ...(messages + deduplicated > 0 ? [`messages: ${messages} accepted, ${deduplicated} known already`] : []),
    ...(refused > 0 ? [`${refused} refused`] : []),
  ];
  return `${lines} ${lines === 1 ? 'line' : 'lines'}${parts.length === 0 ? ', nothing in them' : `; ${parts.join('; ')}`}`;
}

async function ended(stream: WriteStream | null): Promise<void> {
  if (stream === null) return;
  stream.end();
  await once(stream, 'close');
}

interface ExportPage extends Paged {
  readonly items: readonly unknown[];
  readonly redacted: number;
}

const EXPORTS: Readonly<Record<string, readonly string[]>> = {
  schedules: ['schedules'],
  messages: ['messages'],
  all: ['schedules', 'messages'],
};

async function exportAll(session: Session, options: ExportOptions, operands: readonly string[]): Promise<void> {
  const [what = 'all'] = operands;
  const kinds = EXPORTS[what];
  if (kinds === undefined)
    throw usageError(`${JSON.stringify(what)} cannot be exported, expected schedules, messages or all`);
  const file = options.output === undefined ? null : createWriteStream(options.output);
  if (file !== null)
    await once(file, 'open').catch((error: unknown) => {
      throw usageError(
        `${options.output ?? ''} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
      );
    });
  const write = async (text: string): Promise<void> => {
    if (file === null) {
      session.io.out(text);
      await session.io.drained();
    } else if (!file.write(text)) await once(file, 'drain');
  };
  const progress = new Progress(session.io, 'items');
  const counts = new Map<string, number>();
  let redacted = 0;
  try {
    for (const kind of kinds) {
      for await (const page of pagesOf(session, kind)) {
        await write(page.items.map((item) => `${printableJson(item)}\n`).join(''));
        counts.set(kind, (counts.get(kind) ?? 0) + page.items.length);
        redacted += page.redacted;
        progress.show({ count: [...counts.values()].reduce((sum, count) => sum + count), share: null, remark: '' });
      }
    }
  } finally {
    progress.clear();
    await ended(file);
  }
  session.remark(`exported ${[...counts].map(([kind, count]) => `${count} ${kind}`).join(' and ')}`);
  if (redacted > 0) session.remark(`${redacted} were left out: what Upstash-Redact-Fields hides is shown to nobody`);
}

function pagesOf(session: Session, kind: string): AsyncGenerator<ExportPage> {
  return pagesFrom(async (cursor) => {
    const query = cursor === undefined ? {} : { cursor };
    return (await session.api.call('GET', `/v2/export/${kind}`, { query })) as ExportPage;
  });
}
