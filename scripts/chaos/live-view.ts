/** Shows a chaos run while it goes on: one screenful, drawn anew each second; on what is no terminal, a line now and then. */
import type { Progress } from './run.js';

const EVERY_MS = 1_000;
const LINES_OF_PAST = 12;
const CLEAR = '\u001b[H\u001b[J';

export class LiveView {
  readonly #isScreen: boolean;
  readonly #past: string[] = [];
  #progress: (() => Progress) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #lastCalls = 0;
  #lastAtMs = 0;

  constructor(isScreen: boolean) {
    this.#isScreen = isScreen;
  }

  /** A line that stays, as long as there is room. */
  say(line: string): void {
    this.#past.push(line);
    if (!this.#isScreen || this.#progress === null) process.stderr.write(`${line}\n`);
  }

  start(progress: () => Progress): void {
    this.#progress = progress;
    this.#lastAtMs = performance.now();
    if (!this.#isScreen) return;
    this.#timer = setInterval(() => void this.#draw(), EVERY_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #draw(): Promise<void> {
    const progress = this.#progress?.();
    if (progress === undefined) return;
    const counts = await progress.cluster.receiver.counts().catch(() => null);
    if (counts === null || this.#timer === null) return;
    const nowMs = performance.now();
    const perSecond = (1_000 * (counts.calls - this.#lastCalls)) / Math.max(1, nowMs - this.#lastAtMs);
    this.#lastCalls = counts.calls;
    this.#lastAtMs = nowMs;
    process.stderr.write(CLEAR + screenText(progress, { ...counts, perSecond }, this.#past.slice(-LINES_OF_PAST)));
  }
}

/** What stands on the screen. */
function screenText(
  progress: Progress,
  calls: { calls: number; open: number; perSecond: number },
  past: readonly string[],
): string {
  const { requests } = progress;
  const seconds = (fromMs: number, toMs: number): string => String(Math.max(0, Math.round((toMs - fromMs) / 1_000)));
  const nowMs = Date.now();
  const nodes = progress.cluster.nodes.map(
    ({ name, state, lives }) => `  ${name}  ${state.padEnd(8)}  life ${lives.length}`,
  );
  return [
    `Carillon under chaos   ${seconds(progress.startedAtMs, nowMs)} s of ${seconds(progress.startedAtMs, progress.endsAtMs)} s`,
    '',
    `  now         ${progress.phase}`,
    `  deliveries  ${calls.calls} (${calls.perSecond.toFixed(0)} a second, ${calls.open} under way)`,
    `  load        ${progress.published} messages, ${progress.schedules} schedules`,
    `  API         ${requests.ok} ok, ${requests.unavailable} 503, ${requests.refused} failed, ${requests.broken} no answer`,
    `  faults      ${progress.faults.length} so far`,
    '',
    ...nodes,
    '',
    ...past.map((line) => `  ${line}`),
    '',
  ].join('\n');
}
