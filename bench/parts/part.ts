/** What the parts of the suite have in common: what they are given, and what they give back. */
import type { Harness } from '../harness.js';
import type { FilledDatabase } from '../filled.js';
import type { Sizes } from '../sizes.js';

export interface Bench {
  readonly harness: Harness;
  readonly sizes: Sizes;
  /** The table of that size, filled on first use. */
  filled(rows: number): Promise<FilledDatabase>;
  /** Says how things go; not for the record. */
  say(line: string): void;
}

/** One line of the table that is printed at the end. */
export interface Line {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What of the same run it is compared with, and value divided by that one's. */
  readonly beside?: string;
  readonly ratio?: number;
  /** What it must be, where that is promised. */
  readonly must?: Bound;
}

export interface Bound {
  readonly atMost?: number;
  readonly atLeast?: number;
}

export interface PartResult {
  /** As they go into the record. */
  readonly figures: Readonly<Record<string, unknown>>;
  readonly lines: readonly Line[];
}

export type Part = (bench: Bench) => Promise<PartResult>;

export function isKept(value: number, must: Bound): boolean {
  return value <= (must.atMost ?? Infinity) && value >= (must.atLeast ?? -Infinity);
}

/** The size of the largest table: what lies there while others are measured. */
export function mostRows({ sizes }: Bench): number {
  return Math.max(...sizes.rows);
}
