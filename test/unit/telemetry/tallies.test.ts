// Our quick counters and histograms read like prom-client's own, whatever they were told.

import fc from 'fast-check';
import { Counter, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { tallyCounter, tallyHistogram } from '../../../src/telemetry/tallies.js';

const NAMED = { name: 'a_duration_seconds', help: 'How long it took' };
const BUCKETS = [0.001, 0.25, 1, 10];
const SERIES = [{ kind: 'one' }, { kind: 'other' }] as const;

const observations = fc.array(
  fc.tuple(fc.nat(1), fc.oneof(fc.constantFrom(...BUCKETS, 0, 10.1), fc.double({ min: 0, max: 20, noNaN: true }))),
);

it('a histogram', async () => {
  await fc.assert(
    fc.asyncProperty(observations, async (observed) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const observe = tallyHistogram(ours, NAMED, BUCKETS, SERIES);
      const labelNames = ['kind'];
      const histogram = new Histogram({ ...NAMED, labelNames, buckets: [...BUCKETS], registers: [theirs] });
      for (const labels of SERIES) histogram.zero(labels);
      for (const [index, value] of observed) {
        observe[index]!(value);
        histogram.observe(SERIES[index]!, value);
      }
      expect(await ours.metrics()).toBe(await theirs.metrics());
      expect(await ours.getMetricsAsJSON()).toMatchObject([{ ...NAMED, type: 'histogram' }]);
    }),
  );
});

it('a histogram without labels', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const [observe] = tallyHistogram(ours, NAMED, BUCKETS, [{}]);
  const histogram = new Histogram({ ...NAMED, buckets: [...BUCKETS], registers: [theirs] });
  for (const value of [0.5, 0.25, 11]) {
    observe!(value);
    histogram.observe(value);
  }
  expect(await ours.metrics()).toBe(await theirs.metrics());
});

it('a counter, also when it is read between', async () => {
  const named = { name: 'things_total', help: 'Things that happened' };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(1), fc.nat(9), fc.boolean())), async (counted) => {
      const [ours, theirs] = [new Registry(), new Registry()];
      const count = tallyCounter(ours, named, SERIES);
      const counter = new Counter({ ...named, labelNames: ['kind'], registers: [theirs] });
      for (const labels of SERIES) counter.inc(labels, 0);
      for (const [index, by, isRead] of counted) {
        count[index]!(by);
        counter.inc(SERIES[index]!, by);
        if (isRead) await ours.metrics();
      }
      expect(await ours.metrics()).toBe(await theirs.metrics());
    }),
  );
});
