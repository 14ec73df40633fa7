/**
 * `npm run bench:uploads`: what large nonsense does to a cluster. Many bodies of 31 MiB at once, of every kind that bench/nonsense.ts has, go to
 * three nodes as some tenants; another tenant's deliveries go on meanwhile. No node may end, no lease expire; deliveries stay in time and memory
 * within bounds. The same deliveries without uploads come first, since latencies depend on the machine. Ends with 1 when a figure is missed.
 */
import { parseArgs } from 'node:util';
import { heapArguments } from '../cluster/nodes/heap-limit.js';
import { adminBearer, call, publishAll, startCarillon, type CarillonNode } from './carillon-node.js';
import { Child } from './child.js';
import { expectMessages, now, onHarness, sleep, sleepUntil, warmUp, type Harness } from './harness.js';
import { percentile, printTable, rounded, writeRecord } from './figures.js';
import { loadAverage } from './machine.js';
import { Memory } from './memory.js';
import { isKept, type Line } from './parts/part.js';
import { printLines } from './suite-table.js';
import type { UploadCount, Uploaded, UploaderOptions } from './uploader.js';

const NODES = 3;
const MIB = 2 ** 20;
/** After the first heartbeats of nodes that started together. */
const SHARING_MS = 9_000;
const SLICE_MS = 500;
const LEAD_MS = 2_000;
const CONCURRENCY = 200;
const MOST_P99_MS = 250;
const MOST_RESIDENT_MIB = 700;

const options = parseArgs({
  options: {
    parallel: { type: 'string', default: '20' },
    /** That upload. */
    tenants: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '60' },
    rate: { type: 'string', default: '50' },
    json: { type: 'boolean', default: false },
    'no-record': { type: 'boolean', default: false },
  },
}).values;

interface Stream {
  readonly deliveries: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How long requests that published them took: p99. */
  readonly acceptP99Ms: number;
}

async function main(harness: Harness): Promise<void> {
  const names = Array.from({ length: NODES }, (_, index) => `node-${index + 1}`);
  const nodeArguments = heapArguments(process.env, NODES);
  const nodes = await Promise.all(names.map((name) => startCarillon(harness.stores, CONCURRENCY, nodeArguments, name)));
  const memory = new Memory(nodes.map(({ pid }) => pid));
  try {
    report(harness, await measure(harness, nodes, memory));
  } finally {
    memory.stop();
    await Promise.all(nodes.map((node) => node.stop()));
  }
}

interface Measured {
  readonly quiet: Stream;
  readonly busy: Stream;
  readonly counts: readonly UploadCount[];
  readonly nodesEnded: number;
  readonly leasesLapsed: number;
  readonly residentMib: number;
  readonly loadAverage: number;
}

async function measure(harness: Harness, nodes: readonly CarillonNode[], memory: Memory): Promise<Measured> {
  const urls = nodes.map(({ url }) => url);
  const tenants = Array.from({ length: Number(options.tenants) }, (_, index) => `uploads-${index + 1}`);
  const tokens = await Promise.all(tenants.map((name) => tenantToken(urls[0] ?? '', name)));
  const uploaderOptions: UploaderOptions = { urls, tokens, parallel: Number(options.parallel) };
  const uploader = new Child('uploader.js', uploaderOptions);
  try {
    await uploader.next('prepared');
    await sleep(SHARING_MS);
    await warmUp(harness, (count) =>
      publishAll(urls[0] ?? '', harness.url, dueAt(Date.now() + 1_000, count), { tellDue: false }),
    );
    console.error('deliveries without uploads');
    const quiet = await stream(harness, urls);
    console.error(`deliveries with ${options.parallel} uploads at once`);
    uploader.tell({ kind: 'start' });
    const busy = await stream(harness, urls);
    const { counts } = await uploader.ask<Uploaded>({ kind: 'stop' }, 'uploaded');
    return {
      quiet,
      busy,
      counts,
      nodesEnded: memory.ended,
      leasesLapsed: await leasesLapsed(urls),
      residentMib: Math.ceil(memory.mostBytes / MIB),
      loadAverage: loadAverage(),
    };
  } finally {
    await uploader.stop();
  }
}

function dueAt(dueAtMs: number, count: number): { index: number; dueAtMs: number }[] {
  return Array.from({ length: count }, (_, index) => ({ index, dueAtMs }));
}

/** So many messages a second, each published some time ahead by one node after the other, and when they arrive. */
async function stream(harness: Harness, urls: readonly string[]): Promise<Stream> {
  const slices = Math.ceil((Number(options.seconds) * 1_000) / SLICE_MS);
  const perSlice = Math.round((Number(options.rate) * SLICE_MS) / 1_000);
  const arrived = await expectMessages(harness, slices * perSlice);
  const firstDueAtMs = Date.now() + LEAD_MS + SLICE_MS;
  const publishing: Promise<number>[] = [];
  for (let slice = 0; slice < slices; slice++) {
    const fromMs = firstDueAtMs + slice * SLICE_MS;
    await sleepUntil(fromMs - LEAD_MS);
    const messages = Array.from({ length: perSlice }, (_, index) => ({
      index: slice * perSlice + index,
      dueAtMs: fromMs + Math.floor(Math.random() * SLICE_MS),
    }));
    publishing.push(timed(publishAll(urls[slice % urls.length] ?? '', harness.url, messages, { tellDue: true })));
  }
  const acceptsMs = await Promise.all(publishing);
  const { lagsMs } = await arrived();
  return {
    deliveries: lagsMs.length,
    p50Ms: rounded(percentile(lagsMs, 0.5), 1),
    p99Ms: rounded(percentile(lagsMs, 0.99), 1),
    maxMs: rounded(percentile(lagsMs, 1), 1),
    acceptP99Ms: rounded(percentile(acceptsMs, 0.99), 1),
  };
}

async function timed(work: Promise<unknown>): Promise<number> {
  const startedAtMs = now();
  await work;
  return now() - startedAtMs;
}

/** A token of a tenant that only uploads. */
async function tenantToken(api: string, name: string): Promise<string> {
  await call(api, 'POST', '/admin/tenants', adminBearer(), JSON.stringify({ name }));
  const answer = await call(api, 'POST', `/admin/tenants/${name}/tokens`, adminBearer(), '{}');
  return (answer as { token: string }).token;
}

/** As the nodes themselves count them. A node that is gone has said nothing, and counts as ended. */
async function leasesLapsed(urls: readonly string[]): Promise<number> {
  const texts = await Promise.all(
    urls.map(async (url) => {
      const response = await fetch(`${url}/metrics`, { headers: adminBearer() }).catch(() => null);
      return (await response?.text()) ?? '';
    }),
  );
  const values = texts.map((text) => Number(/^carillon_leases_lapsed_total (\S+)$/m.exec(text)?.[1] ?? Number.NaN));
  return values.reduce((sum, value) => sum + value, 0);
}

function linesOf({ quiet, busy, counts, nodesEnded, leasesLapsed: lapsed, residentMib }: Measured): Line[] {
  const problems = counts.filter(({ status }) => status >= 500 && status !== 503);
  const sum = (of: readonly UploadCount[]): number => of.reduce((total, { count }) => total + count, 0);
  return [
    { what: 'nodes that ended', value: nodesEnded, unit: 'nodes', must: { atMost: 0 } },
    { what: 'leases that expired', value: lapsed, unit: 'leases', must: { atMost: 0 } },
    {
      what: `lag of another tenant's deliveries, p99`,
      value: busy.p99Ms,
      unit: 'ms',
      beside: 'without uploads',
      ratio: busy.p99Ms / quiet.p99Ms,
      must: { atMost: MOST_P99_MS },
    },
    {
      what: `another tenant's batches, answered, p99`,
      value: busy.acceptP99Ms,
      unit: 'ms',
      beside: 'without uploads',
      ratio: busy.acceptP99Ms / quiet.acceptP99Ms,
    },
    { what: 'most memory of a node (RSS)', value: residentMib, unit: 'MiB', must: { atMost: MOST_RESIDENT_MIB } },
    { what: 'uploads that ended', value: sum(counts), unit: 'uploads', must: { atLeast: 1 } },
    { what: 'of them with a 5xx that is no 503', value: sum(problems), unit: 'uploads', must: { atMost: 0 } },
  ];
}

function report({ stores }: Harness, measured: Measured): void {
  const lines = linesOf(measured);
  const missed = lines.filter(({ value, must }) => must !== undefined && !isKept(value, must)).map(({ what }) => what);
  const { parallel, tenants, rate } = options;
  const sizes = { parallel: Number(parallel), tenants: Number(tenants), rate: Number(rate) };
  const figures = { ...sizes, ...measured, missed };
  if (!options['no-record']) writeRecord('uploads', stores.versions, figures);
  if (missed.length > 0) process.exitCode = 1;
  if (options.json) {
    console.log(JSON.stringify(figures));
    return;
  }
  printLines([['uploads', lines]]);
  console.log('');
  const byKind = [...measured.counts].sort((a, b) => a.kind.localeCompare(b.kind) || a.status - b.status);
  printTable(
    ['kind of nonsense', 'answered with', 'uploads'],
    byKind.map(({ kind, status, count }) => [kind, status === 0 ? 'no answer' : status, count]),
  );
}

await onHarness({ warmUpMessages: 1_000 }, main);
