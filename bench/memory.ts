/** Watches processes: the most memory that one of them had in use, and how many have ended. Linux only. */
import { residentBytes } from './machine.js';

const EVERY_MS = 100;

export class Memory {
  readonly #running: Set<number>;
  readonly #count: number;
  readonly #timer: NodeJS.Timeout;
  #mostBytes = 0;

  constructor(pids: readonly number[]) {
    this.#running = new Set(pids);
    this.#count = pids.length;
    this.#timer = setInterval(() => this.#look(), EVERY_MS);
  }

  get mostBytes(): number {
    return this.#mostBytes;
  }

  get ended(): number {
    return this.#count - this.#running.size;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const pid of this.#running) {
      const bytes = residentNow(pid);
      if (bytes === null) this.#running.delete(pid);
      else this.#mostBytes = Math.max(this.#mostBytes, bytes);
    }
  }
}

/** Null once the process has ended, also while nobody has waited for it. */
function residentNow(pid: number): number | null {
  try {
    const bytes = residentBytes(pid);
    return Number.isNaN(bytes) ? null : bytes;
  } catch {
    return null;
  }
}
