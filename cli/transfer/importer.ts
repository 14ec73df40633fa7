/** Sends the lines of a file in batches, and says of each line that was not taken why. */
import type { Api } from '../api.js';
import { CliError } from '../io.js';
import type { Screen } from '../screen.js';
import { oneLine } from '../text.js';
import { identified, isSchedule, LineError, type Item, type LineReader } from './items.js';
import type { LineSource } from './lines.js';
import { Progress } from './progress.js';

/** Well below what a request may have (CARILLON_BATCH_MAX_BYTES). */
const GROUP_BYTES = 8 * 2 ** 20;
/** So many refusals are told one by one; the file of refusals has all. */
const TOLD_REFUSALS = 20;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

export interface ImportSettings {
  readonly fromLine: number;
  /** Most lines of one request. */
  readonly batch: number;
  /** How long a Carillon that is unavailable is waited for. */
  readonly patienceMs: number;
  readonly onRefused: (refusal: Refusal) => void;
  /** Takes the items instead of the API. */
  readonly onItem?: (item: Item) => void;
  /** Asked before each batch: whether to end here. */
  readonly isStopped: () => boolean;
}

export interface Refusal {
  readonly line: number;
  readonly error: string;
  readonly text: string | null;
}

export interface ImportTotals {
  lines: number;
  created: number;
  edited: number;
  unchanged: number;
  messages: number;
  deduplicated: number;
  refused: number;
}

interface Numbered {
  readonly line: number;
  readonly text: string;
  readonly item: Item;
}

export class Importer {
  readonly totals: ImportTotals = {
    ...{ lines: 0, created: 0, edited: 0, unchanged: 0, messages: 0, deduplicated: 0, refused: 0 },
  };
  /** The first line that has not been dealt with. */
  nextLine: number;
  readonly #api: Api | null;
  readonly #io: Screen;
  readonly #settings: ImportSettings;
  readonly #progress: Progress;

  constructor(api: Api | null, io: Screen, settings: ImportSettings) {
    this.#api = api;
    this.#io = io;
    this.#settings = settings;
    this.#progress = new Progress(io, 'lines');
    this.nextLine = settings.fromLine;
  }

  /** Up to the end, or until it is stopped. Throws a CliFault when the API stays away or refuses a whole request. */
  async run(source: LineSource, read: LineReader): Promise<void> {
    try {
      await this.#run(source, read);
    } finally {
      this.#progress.clear();
    }
  }

  async #run({ lines, totalBytes }: LineSource, read: LineReader): Promise<void> {
    const { fromLine, batch } = this.#settings;
    let group: Numbered[] = [];
    let groupBytes = 0;
    let readBytes = 0;
    let lastLine = 0;
    const flush = async (): Promise<void> => {
      await this.#send(group);
      group = [];
      groupBytes = 0;
      this.nextLine = Math.max(this.nextLine, lastLine + 1);
      const { lines: count, refused } = this.totals;
      const remark = refused === 0 ? '' : `${refused} refused`;
      this.#progress.show({ count, share: totalBytes === 0 ? 1 : readBytes / totalBytes, remark });
    };
    for await (const { line, text, bytes } of lines) {
      const item = this.#read(read, text, line);
      if (line >= fromLine) {
        this.totals.lines += 1;
        if (item !== null && text !== null) {
          group.push({ line, text, item });
          groupBytes += text.length;
        }
      }
      readBytes = bytes;
      lastLine = line;
      if (group.length < batch && groupBytes < GROUP_BYTES) continue;
      await flush();
      if (this.#settings.isStopped()) return;
    }
    await flush();
  }

  /** The item of a line; null for one that stands for nothing or makes none. Lines before the first are read for what they say of the others. */
  #read(read: LineReader, text: string | null, line: number): Item | null {
    const isSkipped = line < this.#settings.fromLine;
    try {
      if (text === null) throw new LineError('this is not UTF-8');
      const item = read(text, line);
      return item === null || isSkipped ? null : identified(item, text, line);
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      if (!isSkipped) this.#refuse({ line, error: error.message, text });
      return null;
    }
  }

  #refuse(refusal: Refusal): void {
    this.totals.refused += 1;
    this.#settings.onRefused(refusal);
    const told = this.totals.refused;
    if (told > TOLD_REFUSALS) return;
    this.#progress.clear();
    this.#io.err(`line ${refusal.line}: ${oneLine(refusal.error)}\n`);
    if (told === TOLD_REFUSALS) this.#io.err('further refusals are counted, and written with --refused <file>\n');
  }

  async #send(group: readonly Numbered[]): Promise<void> {
    const { onItem } = this.#settings;
    if (onItem !== undefined) {
      for (const { item } of group) onItem(item);
      return;
    }
    const schedules = group.filter(({ item }) => isSchedule(item));
    const messages = group.filter(({ item }) => !isSchedule(item));
    if (schedules.length > 0) await this.#sendTo('/v2/schedules/batch', schedules);
    if (messages.length > 0) await this.#sendTo('/v2/batch', messages);
  }

  async #sendTo(path: string, group: readonly Numbered[]): Promise<void> {
    const answer = await this.#patiently(
      path,
      group.map(({ item }) => item),
    );
    if (!Array.isArray(answer) || answer.length !== group.length) {
      throw new CliError(`${path} did not answer each item: is this the address of Carillon?`, 1);
    }
    group.forEach(({ line, text }, index) => this.#take(answer[index] as ItemAnswer, line, text));
  }

  #take(answer: ItemAnswer, line: number, text: string): void {
    if (typeof answer.error === 'string') this.#refuse({ line, error: answer.error, text });
    else if (answer.result !== undefined) this.totals[answer.result] += 1;
    else this.totals[answer.deduplicated === true ? 'deduplicated' : 'messages'] += 1;
  }

  /** Sends a batch, again and again while Carillon is away: what it had taken already is not taken twice. */
  async #patiently(path: string, json: unknown): Promise<unknown> {
    const untilMs = performance.now() + this.#settings.patienceMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await this.#api?.call('POST', path, { json });
      } catch (error) {
        const isAway = error instanceof CliError && error.isPassing;
        if (!isAway || this.#settings.isStopped() || performance.now() + pauseMs > untilMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
}

interface ItemAnswer {
  readonly error?: string;
  readonly result?: 'created' | 'edited' | 'unchanged';
  readonly deduplicated?: true;
}
