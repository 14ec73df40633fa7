/**
 * The one way from the client to its outputs: whatever came from a server, a file or the command line is neutralised here, so that it cannot steer
 * the terminal. Colours and redrawn lines are the client's own, and are made here alone.
 */
import { randomUUID } from 'node:crypto';
import { printable, printableJson } from '../src/domain/printable.js';
import type { Io } from './io.js';

/** Stands for the start of a colour until it is written; nobody else can know it. */
const MARK = randomUUID();
const MARKED = new RegExp(`${MARK}(\\d+);`, 'g');

export class Screen implements Io {
  readonly columns: number | null;
  readonly environment: Io['environment'];
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
    this.columns = io.columns;
    this.environment = io.environment;
  }

  out(text: string): void {
    this.#io.out(painted(printable(text)));
  }

  err(text: string): void {
    this.#io.err(printable(text));
  }

  /** To the standard output, as JSON that says the same and holds no character that a terminal obeys. */
  json(value: unknown, indent?: number): void {
    this.#io.out(`${printableJson(value, indent)}\n`);
  }

  /** To the standard error output, in place of the line that was drawn last. */
  redraw(line: string): void {
    this.#io.err(`\r${printable(line).replaceAll('\n', ' ')}`);
  }

  /** The text in a colour (an ANSI number), once it is written with `out`; as it is where there are no colours. */
  paint(text: string, colour: number): string {
    const { NO_COLOR = '', TERM } = this.environment;
    if (this.columns === null || NO_COLOR !== '' || TERM === 'dumb') return text;
    return `${MARK}${colour};${text}${MARK}0;`;
  }

  drained(): Promise<void> {
    return this.#io.drained();
  }

  input(): Promise<Buffer> {
    return this.#io.input();
  }
}

function painted(text: string): string {
  return text.replace(MARKED, '\u001b[$1m');
}
