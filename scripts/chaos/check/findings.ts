/** Collects what a check finds wrong: how often each kind, and a few examples. */

export interface Finding {
  readonly kind: string;
  readonly count: number;
  readonly examples: readonly string[];
}

const EXAMPLES = 3;

export class Findings {
  readonly #found = new Map<string, { count: number; examples: string[] }>();

  add(kind: string, example: string): void {
    const known = this.#found.get(kind) ?? { count: 0, examples: [] };
    known.count += 1;
    if (known.examples.length < EXAMPLES) known.examples.push(example);
    this.#found.set(kind, known);
  }

  list(): Finding[] {
    return [...this.#found].map(([kind, { count, examples }]) => ({ kind, count, examples }));
  }
}

/** Hours to milliseconds, as people compare logs. */
export function clockTime(atMs: number | null): string {
  return atMs === null ? 'never' : new Date(atMs).toISOString().slice(11, 23);
}

/** The value below which that share of the values lies; null of none. */
function quantile(values: readonly number[], share: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
}

export interface Spread {
  readonly count: number;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

export function spreadOf(values: readonly number[]): Spread {
  return {
    count: values.length,
    p50: quantile(values, 0.5),
    p99: quantile(values, 0.99),
    max: quantile(values, 1),
  };
}

export function groupBy<Value, Key>(values: readonly Value[], keyOf: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
