/** How far a transfer has come: a bar that is drawn again and again on a terminal, a line now and then elsewhere. */
import type { Screen } from '../screen.js';

const DRAW_EVERY_MS = 200;
const SAY_EVERY_MS = 10_000;
const BAR_CELLS = 24;

export interface Amount {
  /** What is counted, such as lines. */
  readonly count: number;
  /** How much of the whole is done, from 0 to 1; null when the whole is not known. */
  readonly share: number | null;
  /** Said at the end of the line, '' for nothing. */
  readonly remark: string;
}

export class Progress {
  readonly #io: Screen;
  readonly #unit: string;
  readonly #startedMs = performance.now();
  #saidMs = -Infinity;
  #drawn = false;

  constructor(io: Screen, unit: string) {
    this.#io = io;
    this.#unit = unit;
  }

  /** Says how far it has come, if the last time is long enough ago. */
  show(amount: Amount): void {
    const nowMs = performance.now();
    const isTerminal = this.#io.columns !== null;
    if (nowMs - this.#saidMs < (isTerminal ? DRAW_EVERY_MS : SAY_EVERY_MS)) return;
    // The first line elsewhere would say that nothing is done.
    if (!isTerminal && this.#saidMs === -Infinity) this.#saidMs = nowMs;
    else this.#say(amount, nowMs);
  }

  /** Takes the bar away, so that something else can be written. */
  clear(): void {
    if (this.#drawn) {
      this.#io.redraw(' '.repeat((this.#io.columns ?? 1) - 1));
      this.#io.redraw('');
    }
    this.#drawn = false;
  }

  #say(amount: Amount, nowMs: number): void {
    this.#saidMs = nowMs;
    const text = this.#text(amount, (nowMs - this.#startedMs) / 1_000);
    const { columns } = this.#io;
    if (columns === null) {
      this.#io.err(`${text}\n`);
      return;
    }
    const bar = amount.share === null ? '' : `${barOf(amount.share)} `;
    this.#io.redraw((bar + text).slice(0, columns - 1).padEnd(columns - 1));
    this.#drawn = true;
  }

  #text({ count, share, remark }: Amount, seconds: number): string {
    const perSecond = Math.round(count / Math.max(seconds, 0.001));
    const parts = [
      ...(share === null ? [] : [`${Math.floor(share * 100)} %`]),
      `${count.toLocaleString('en')} ${this.#unit}`,
      `${perSecond.toLocaleString('en')}/s`,
      ...(share === null || share === 0 || share === 1 ? [] : [`${timeText((seconds * (1 - share)) / share)} left`]),
      ...(remark === '' ? [] : [remark]),
    ];
    return parts.join(', ');
  }
}

function barOf(share: number): string {
  const full = Math.round(share * BAR_CELLS);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CELLS - full)}]`;
}

function timeText(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}
