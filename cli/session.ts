/** What a command works with: the API, how times and tables are to look, and where the answer goes. */
import type { Command } from 'commander';
import { Api } from './api.js';
import { connectionOf, homeOf, type ConnectionOptions } from './connection.js';
import type { Screen } from './screen.js';
import { table, type Column } from './table.js';
import { oneLine } from './text.js';
import type { Zone } from './times.js';

/** Options of every command. */
export interface CommonOptions extends ConnectionOptions {
  readonly json?: true;
  readonly local?: true;
  readonly utc?: true;
}

export class Session {
  readonly zone: Zone;
  /** Folder of the local Carillon, whether it runs or not. */
  readonly home: string;
  readonly #isJson: boolean;
  readonly #options: CommonOptions;
  #api: Api | undefined;

  constructor(
    readonly io: Screen,
    options: CommonOptions,
  ) {
    this.#options = options;
    this.home = homeOf(options, io);
    this.zone = options.local === true && options.utc !== true ? 'local' : 'utc';
    this.#isJson = options.json === true;
  }

  /** The API; throws a CliFault when nothing says where it is. */
  get api(): Api {
    return (this.#api ??= new Api(connectionOf(this.#options, this.io)));
  }

  /** With --json the API's answer as it is, otherwise `text` of it. */
  show(answer: unknown, text: () => string): void {
    if (this.#isJson) this.io.json(answer, 2);
    else this.io.out(text());
  }

  /** Like `show`, where the text takes further calls. */
  async showWith(answer: unknown, text: () => Promise<string>): Promise<void> {
    const shown = this.#isJson ? '' : await text();
    this.show(answer, () => shown);
  }

  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], whenEmpty: string): string {
    return rows.length === 0 ? `${whenEmpty}\n` : table(columns, rows, this.io.columns);
  }

  /** For people only: a remark that is no part of the answer. */
  remark(text: string): void {
    this.io.err(`${oneLine(text)}\n`);
  }

  /** The state of a message or schedule, in its colour. */
  readonly paintState = (cell: string): string => {
    const colour = COLOURS[cell.trim()];
    return colour === undefined ? cell : this.io.paint(cell, colour);
  };
}

const COLOURS: Readonly<Record<string, number>> = {
  delivered: 32,
  active: 32,
  draining: 33,
  starting: 33,
  failed: 31,
  pending: 33,
  paused: 33,
  skipped: 35,
  canceled: 90,
  ended: 90,
};

/** What a command does; operands that may be several come in one list. Its options are as it declared them to commander. */
export type Work = (session: Session, options: never, operands: readonly string[]) => Promise<void>;

/** Turns what a command does into commander's handler. */
export type Runner = (work: Work) => (...given: unknown[]) => Promise<void>;

export function runnerFor(io: Screen): Runner {
  return (work) =>
    async (...given) => {
      const command = given.at(-1) as Command;
      const options = command.optsWithGlobals<CommonOptions>();
      await work(new Session(io, options), options as never, command.args);
    };
}

/** The one operand of a command; commander has seen to it that it is there. */
export function first(operands: readonly string[]): string {
  return operands[0] ?? '';
}
