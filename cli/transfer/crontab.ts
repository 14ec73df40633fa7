/**
 * Reads a crontab. A command cannot be run from here, so each line becomes a call that asks a receiver of yours to run it: the command, and
 * what cron would have given it on its standard input, are in the body as JSON, and may stand in the URL as {command} or {name}.
 */
import { parseCron } from '../../src/domain/cron/parse.js';
import { CarillonError } from '../../src/domain/errors.js';
import { fillTemplate, LineError, type Item, type LineReader } from './items.js';

export interface CrontabOptions {
  readonly template: string;
  /** Of lines before which the file names none. */
  readonly timeZone: string | null;
  /** Lines of /etc/crontab and /etc/cron.d have a user before the command. */
  readonly hasUser: boolean;
}

/** Longer lines are no crontab's; cron itself takes a thousand characters. */
const LINE_MAX_LENGTH = 16_384;
/** On trimmed lines, so that nothing is tried twice. */
const ASSIGNMENT = /^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;
const QUOTED = /^(["'])(.*)\1$/;
const SCHEDULE = /^(@\w+|(?:\S+\s+){4}\S+)\s+(.*)$/;

/** A reader of the lines of one crontab, in order. */
export function crontabReader(options: CrontabOptions): LineReader {
  let zone = options.timeZone;
  const environment = new Map<string, string>();
  return (text) => {
    const line = text.trim();
    if (line === '' || line.startsWith('#')) return null;
    if (line.length > LINE_MAX_LENGTH) {
      throw new LineError(`this line has ${line.length} characters, at most ${LINE_MAX_LENGTH} are read`);
    }
    const assignment = ASSIGNMENT.exec(line);
    if (assignment !== null && !SCHEDULE_FIRST.test(line)) {
      const [, name = '', bare = ''] = assignment;
      const value = QUOTED.exec(bare)?.[2] ?? bare;
      if (name === 'RANDOM_DELAY' && value !== '0') {
        throw new LineError('RANDOM_DELAY has no counterpart; Carillon-Window spreads occurrences: take the line out');
      }
      if (name === 'CRON_TZ' || name === 'TZ') zone = value;
      // Commands see TZ, not CRON_TZ.
      if (name !== 'CRON_TZ') environment.set(name, value);
      return null;
    }
    if (zone === null) {
      throw new LineError(
        "a crontab's times are by the clock of its machine: say which one with --time-zone, such as Europe/Kyiv",
      );
    }
    return entryOf(line, zone, environment, options);
  };
}

/** `* * * * * A=b command` is no assignment. */
const SCHEDULE_FIRST = /^(?:@|[\d*])/;

function entryOf(line: string, zone: string, environment: ReadonlyMap<string, string>, options: CrontabOptions): Item {
  const [, when = '', rest = ''] = SCHEDULE.exec(line) ?? [];
  if (when === '') throw new LineError('expected five fields and a command');
  if (when.toLowerCase() === '@reboot') {
    throw new LineError('@reboot: nothing here starts with a machine; call the receiver from what starts it');
  }
  const cron = when.replaceAll(/\s+/g, ' ');
  refuseOtherMeaning(cron, zone);
  const [, user, command] = options.hasUser ? (/^(\S+)\s+(.*)$/.exec(rest) ?? []) : [rest, undefined, rest];
  if (command === undefined) throw new LineError('expected a user and a command after the five fields');
  const [run, input] = splitInput(command);
  return {
    destination: fillTemplate(options.template, { command: run, name: programOf(run) }),
    headers: { 'Upstash-Cron': cron, 'Carillon-Time-Zone': zone, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      command: run,
      ...(input !== null && { input }),
      ...(user !== undefined && { user }),
      ...(environment.size > 0 && { environment: Object.fromEntries(environment) }),
    }),
  };
}

/** The name of the program: what follows the last slash of the first word that does not end with one. */
function programOf(command: string): string {
  const names = command.split(/\s+/).map((word) => word.slice(word.lastIndexOf('/') + 1));
  return names.find((name) => name !== '') ?? command;
}

/** Where cron and Carillon would not fire at the same times. */
function refuseOtherMeaning(cron: string, zone: string): void {
  const [, , monthDay = '', , weekday = ''] = cron.split(' ');
  const isStep = [monthDay, weekday].some((field) => field.startsWith('*/'));
  if (isStep && monthDay !== '*' && weekday !== '*') {
    throw new LineError(
      `"${cron.slice(0, 80)}": with */n in one day field cron wants both of them to match, here either is enough; write it as two schedules, or name the days`,
    );
  }
  try {
    parseCron(cron, { timeZone: zone });
  } catch (error) {
    throw error instanceof CarillonError ? new LineError(error.message) : error;
  }
}

/** cron takes the first "%" for the end of the command, what follows for its input, and each further "%" for a line break; "\%" is a "%". */
function splitInput(command: string): [command: string, input: string | null] {
  const parts = command.split(/(?<!\\)%/).map((part) => part.replaceAll('\\%', '%'));
  const [run = '', ...lines] = parts;
  return [run.trim(), lines.length === 0 ? null : lines.join('\n')];
}
