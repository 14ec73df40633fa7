// The world of a simulation: one clock, one list of what happens next, and one thing at a time.

import type { Cancel, ProcessTime } from '../../src/domain/clock.js';
import { SeededRandom } from '../kit/seeded-random.js';
import { runTurn } from './turns.js';

interface SimulatedEvent {
  readonly atMs: number;
  readonly order: number;
  readonly time: ProcessTime | null;
  run: (() => void) | null;
}

/** Lines that are kept for whoever wants to know what went before a violation. */
const KEPT_LINES = 400;

export class World {
  readonly random: SeededRandom;
  /** The true time, in milliseconds. Begins well after the epoch, as ids are made of it. */
  nowMs = 1_000_000;
  steps = 0;
  readonly violations: string[] = [];
  readonly #heap: SimulatedEvent[] = [];
  #order = 0;
  #hash = 0x811c9dc5;
  #hash2 = 0x1b873593;
  readonly #lines: string[] = [];

  constructor(seed: number) {
    this.random = SeededRandom.scrambled(seed);
  }

  /** Something of a process (by its time), or of servers and faults (null). */
  at(atMs: number, run: () => void, time: ProcessTime | null = null): Cancel {
    const event: SimulatedEvent = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, time, run };
    this.#push(event);
    return () => (event.run = null);
  }

  after(delayMs: number, run: () => void, time: ProcessTime | null = null): Cancel {
    return this.at(this.nowMs + delayMs, run, time);
  }

  /** The next thing, and all that follows from it at once. False when nothing will ever happen again. */
  async step(): Promise<boolean> {
    for (;;) {
      const next = this.#pop();
      if (next === undefined) return false;
      if (next.run === null) continue;
      this.nowMs = next.atMs;
      this.steps += 1;
      await runTurn(next.time, next.run);
      return true;
    }
  }

  /** A line of the history: what two runs of one seed must have in common. */
  note(line: string): void {
    const stamped = `${(this.nowMs - 1_000_000).toFixed(1)} ${line}`;
    for (let index = 0; index < stamped.length; index++) {
      const code = stamped.charCodeAt(index);
      this.#hash = Math.imul(this.#hash ^ code, 0x01000193);
      this.#hash2 = Math.imul(this.#hash2 ^ (code + index), 0x85ebca6b);
    }
    this.#lines.push(stamped);
    if (this.#lines.length > 2 * KEPT_LINES) this.#lines.splice(0, KEPT_LINES);
  }

  violate(text: string): void {
    this.violations.push(`${(this.nowMs - 1_000_000).toFixed(1)} ${text}`);
    this.note(`VIOLATION ${text}`);
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0') + (this.#hash2 >>> 0).toString(16).padStart(8, '0');
  }

  get lastLines(): readonly string[] {
    return this.#lines.slice(-KEPT_LINES);
  }

  #push(event: SimulatedEvent): void {
    const heap = this.#heap;
    let place = heap.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, event)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = event;
  }

  #pop(): SimulatedEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const child = isBefore(heap[left + 1], heap[left]) ? left + 1 : left;
      const below = heap[child];
      if (below === undefined || !isBefore(below, last)) break;
      heap[place] = below;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(one: SimulatedEvent | undefined, other: SimulatedEvent | undefined): boolean {
  if (one === undefined) return false;
  if (other === undefined) return true;
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
