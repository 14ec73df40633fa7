/**
 * `npm run bench:readers`: what readers do to a node. Many clients count runs over a large database without a pause, while messages are published and
 * delivered. The same without readers comes first, since latencies depend on the machine. Ends with 1 when a figure is missed.
 */
import { parseArgs } from 'node:util';
import { bearer, call, type CarillonNode } from './carillon-node.js';
import { filledDatabase } from './filled.js';
import { percentile, rounded, writeRecord } from './figures.js';
import { onHarness, sleep, type Harness } from './harness.js';
import { carillonLag, type Lag } from './lag-stream.js';
import { isKept, type Line } from './parts/part.js';
import { printLines } from './suite-table.js';

const MOST_P99_MS = 100;
const PUBLISH_EVERY_MS = 50;

const options = parseArgs({
  options: {
    rows: { type: 'string', default: '500000' },
    readers: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '30' },
    rate: { type: 'string', default: '100' },
    'no-record': { type: 'boolean', default: false },
  },
}).values;

interface Measured {
  readonly lag: Lag;
  /** How long single publishes took. */
  readonly publishP99Ms: number;
  readonly answered: number;
  /** 429: a tenant has so many reads at a time. */
  readonly refused: number;
}

async function main(harness: Harness): Promise<void> {
  const filled = await filledDatabase(harness, Number(options.rows));
  const on = { ...harness, stores: filled.stores };
  try {
    const without = await measure(on, filled.prefix, 0);
    const withReaders = await measure(on, filled.prefix, Number(options.readers));
    const lines = linesOf(without, withReaders);
    if (!options['no-record']) {
      writeRecord('readers', harness.stores.versions, { rows: filled.rows, without, withReaders });
    }
    printLines([['readers', lines]]);
    if (!lines.every(({ value, must }) => must === undefined || isKept(value, must))) process.exitCode = 1;
  } finally {
    await filled.close();
  }
}

async function measure(harness: Harness, prefix: Readonly<Record<string, string>>, readers: number): Promise<Measured> {
  const state = { stopped: false, answered: 0, refused: 0 };
  const publishesMs: number[] = [];
  let running: Promise<unknown> = Promise.resolve();
  const stream = { perSecond: Number(options.rate), seconds: Number(options.seconds) };
  const lag = await carillonLag(harness, stream, prefix, (node) => {
    const reading = Array.from({ length: readers }, () => read(node, state));
    running = Promise.all([...reading, publish(node, publishesMs, state)]);
    return Promise.resolve();
  }).finally(() => (state.stopped = true));
  await running;
  const { answered, refused } = state;
  return { lag, publishP99Ms: rounded(percentile(publishesMs, 0.99), 1), answered, refused };
}

async function read(
  { url }: CarillonNode,
  state: { stopped: boolean; answered: number; refused: number },
): Promise<void> {
  while (!state.stopped) {
    try {
      const response = await fetch(`${url}/v2/runs/counts`, { headers: bearer() });
      await response.arrayBuffer();
      if (response.status === 200) state.answered += 1;
      else state.refused += 1;
    } catch {
      // The node ended: the measurement is over.
      return;
    }
  }
}

/** To a time that is far away, so that nothing of it is delivered. */
async function publish({ url }: CarillonNode, publishesMs: number[], state: { stopped: boolean }): Promise<void> {
  while (!state.stopped) {
    const startedAtMs = performance.now();
    try {
      await call(url, 'POST', '/v2/publish/http://127.0.0.1:9/later', { 'Upstash-Delay': '30d' }, 'later');
      publishesMs.push(performance.now() - startedAtMs);
    } catch {
      // The node ended: the measurement is over.
      return;
    }
    await sleep(PUBLISH_EVERY_MS);
  }
}

function linesOf(without: Measured, withReaders: Measured): Line[] {
  const readers = `${options.readers} readers over ${Number(options.rows).toLocaleString('en')} rows`;
  const must = { atMost: MOST_P99_MS };
  return [
    { what: 'deliveries’ lag without readers, p99', value: without.lag.p99Ms, unit: 'ms' },
    { what: `deliveries’ lag beside ${readers}, p99`, value: withReaders.lag.p99Ms, unit: 'ms', must },
    { what: 'publishing without readers, p99', value: without.publishP99Ms, unit: 'ms' },
    { what: `publishing beside ${readers}, p99`, value: withReaders.publishP99Ms, unit: 'ms', must },
    { what: 'counts answered', value: withReaders.answered, unit: '' },
    { what: 'counts refused with 429 or 503', value: withReaders.refused, unit: '' },
  ];
}

await onHarness({}, main);
