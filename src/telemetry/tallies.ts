// Counters and histograms with minimal cost per event: numbers in arrays, read at each scrape.
//
// prom-client's own look up each observation by its labels and its bucket's name, which takes one or two microseconds
// for each delivery. prom-client reads these in the same way.

import { Counter, Histogram, type Registry } from 'prom-client';

/** Adds one, or the given number. */
export type Count = (by?: number) => void;
/** Observes a value in the metric's unit. */
export type Observe = (value: number) => void;

export interface Named {
  readonly name: string;
  readonly help: string;
}

/** The labels of one series; the same names in all series of a metric. */
export type Labels = Readonly<Record<string, string>>;

/** Creates a counter with exactly these series, from the start. */
export function tallyCounter(registry: Registry, named: Named, series: readonly Labels[]): Count[] {
  const pending = new Float64Array(series.length);
  const counter = new Counter({
    ...named,
    labelNames: Object.keys(series[0] ?? {}),
    registers: [registry],
    collect() {
      series.forEach((labels, index) => this.inc(labels, pending[index]));
      pending.fill(0);
    },
  });
  for (const labels of series) counter.inc(labels, 0);
  return series.map((_, index) => (by = 1) => {
    pending[index] = (pending[index] ?? 0) + by;
  });
}

/** Creates a histogram with exactly these series, from the start. */
export function tallyHistogram(
  registry: Registry,
  named: Named,
  buckets: readonly number[],
  series: readonly Labels[],
): Observe[] {
  const tallies = series.map((labels) => new Tally(labels, buckets));
  new TallyHistogram(registry, named, buckets, tallies);
  return tallies.map((tally) => (value) => tally.observe(value));
}

/** One series of a histogram. */
class Tally {
  readonly counts: Float64Array;
  sum = 0;
  readonly #buckets: Float64Array;

  constructor(
    readonly labels: Labels,
    buckets: readonly number[],
  ) {
    this.#buckets = Float64Array.from(buckets);
    // The last one counts values beyond all buckets.
    this.counts = new Float64Array(buckets.length + 1);
  }

  observe(value: number): void {
    const buckets = this.#buckets;
    let bucket = 0;
    while (bucket < buckets.length && value > (buckets[bucket] ?? Infinity)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += value;
  }
}

class TallyHistogram extends Histogram {
  readonly #named: Named;
  readonly #buckets: readonly number[];
  readonly #tallies: readonly Tally[];

  constructor(registry: Registry, named: Named, buckets: readonly number[], tallies: readonly Tally[]) {
    const labelNames = Object.keys(tallies[0]?.labels ?? {});
    super({ ...named, labelNames, buckets: [...buckets], registers: [registry] });
    this.#named = named;
    this.#buckets = buckets;
    this.#tallies = tallies;
  }

  /** Called by registries, and the base of `get`; missing in prom-client's types. */
  getForPromString(): Promise<object> {
    const values = this.#tallies.flatMap((tally) => this.#valuesOf(tally));
    return Promise.resolve({ ...this.#named, type: 'histogram', aggregator: 'sum', values });
  }

  #valuesOf({ labels: sharedLabels, counts, sum }: Tally): object[] {
    const { name } = this.#named;
    let count = 0;
    const buckets = [...this.#buckets, '+Inf'].map((le, index) => {
      count += counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
      { metricName: `${name}_count`, labels: {}, sharedLabels, value: count },
    ];
  }
}
