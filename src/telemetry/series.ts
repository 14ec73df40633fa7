// Creates metrics whose series all exist from the start and have a handle each: counting looks nothing up, and no
// unexpected series can appear.

import { Gauge, type Registry } from 'prom-client';
import { type Count, type Named, type Observe, tallyCounter, tallyHistogram } from './tallies.js';

/** One label with all its values. */
export interface Label<Value extends string> {
  readonly label: string;
  readonly values: readonly Value[];
}

export class SeriesMaker {
  constructor(private readonly registry: Registry) {}

  counter(named: Named): Count {
    const [count] = tallyCounter(this.registry, named, [{}]);
    return count ?? ignore;
  }

  counters<Value extends string>(named: Named, { label, values }: Label<Value>): Record<Value, Count> {
    const counts = tallyCounter(
      this.registry,
      named,
      values.map((value) => ({ [label]: value })),
    );
    return byValue(values, (_, index) => counts[index] ?? ignore);
  }

  /** By two labels. */
  grid<First extends string, Second extends string>(
    named: Named,
    first: Label<First>,
    second: Label<Second>,
  ): Record<First, Record<Second, Count>> {
    const pairs = first.values.flatMap((one) =>
      second.values.map((other) => ({ [first.label]: one, [second.label]: other })),
    );
    const counts = tallyCounter(this.registry, named, pairs);
    return byValue(first.values, (_, row) =>
      byValue(second.values, (__, column) => counts[row * second.values.length + column] ?? ignore),
    );
  }

  histogram(named: Named, buckets: readonly number[]): Observe {
    const [observe] = tallyHistogram(this.registry, named, buckets, [{}]);
    return observe ?? ignore;
  }

  histograms<Value extends string>(
    named: Named,
    { label, values }: Label<Value>,
    buckets: readonly number[],
  ): Record<Value, Observe> {
    const series = values.map((value) => ({ [label]: value }));
    const observes = tallyHistogram(this.registry, named, buckets, series);
    return byValue(values, (_, index) => observes[index] ?? ignore);
  }

  /** A level that is read at each scrape. */
  gauge(named: Named, read: () => number): void {
    new Gauge({
      ...named,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  gauges<Value extends string>(named: Named, { label, values }: Label<Value>, read: (value: Value) => number): void {
    new Gauge({
      ...named,
      labelNames: [label],
      registers: [this.registry],
      collect() {
        for (const value of values) this.set({ [label]: value }, read(value));
      },
    });
  }
}

const ignore = (): void => undefined;

function byValue<Value extends string, Made>(
  values: readonly Value[],
  make: (value: Value, index: number) => Made,
): Record<Value, Made> {
  return Object.fromEntries(values.map((value, index) => [value, make(value, index)])) as Record<Value, Made>;
}
