/**
 * Herd: very many schedules with the same second, with and without a spread window: how long until all are delivered, and how late the
 * messages of others are meanwhile.
 */
import type { CarillonNode } from '../carillon-node.js';
import { expectMessages, now, sleep, sleepUntil, startReceiver } from '../harness.js';
import { percentile, rounded } from '../figures.js';
import { HEATS, untilRecorded } from '../trials.js';
import { startHerd } from '../herd-start.js';
import { CONCURRENCY } from '../lag-stream.js';
import type { Arrivals } from '../receiver.js';
import type { Bench, Line, PartResult } from './part.js';

/** The others: so many, published so long before they are due. */
const OTHERS_PER_SECOND = 50;
const SLICE_MS = 500;
const SLICE_LEAD_MS = 3_000;
const POLL_MS = 50;

interface Herd {
  readonly windowMs: number;
  /** From the time in their calendars until the last was delivered and recorded. */
  readonly drainedMs: number;
  readonly others: {
    readonly messages: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly maxMs: number;
  };
}

export async function herd(bench: Bench): Promise<PartResult> {
  const { size, windowMs } = bench.sizes.herd;
  const together = await runHerd(bench, 0);
  bench.say(`herd: ${JSON.stringify(together)}`);
  const spread = await runHerd(bench, windowMs);
  bench.say(`herd: ${JSON.stringify(spread)}`);
  await bench.harness.stores.flushRedis();
  const jobs = await HEATS.bullmq({
    harness: bench.harness,
    messages: size,
    concurrency: CONCURRENCY,
    leadMs: bench.sizes.deliver.leadMs,
  });
  const bullmqMs = Math.round((size / jobs.perSecond) * 1_000);
  const lines: Line[] = [
    {
      what: `${size} schedules at once: drained after`,
      value: together.drainedMs,
      unit: 'ms',
      beside: 'BullMQ delayed jobs',
      ratio: rounded(together.drainedMs / bullmqMs, 3),
    },
    ...othersOf('at once', together),
    {
      what: `with a window of ${windowMs / 1_000} s: drained after`,
      value: spread.drainedMs,
      unit: 'ms',
      beside: 'the window',
      ratio: rounded(spread.drainedMs / windowMs, 3),
    },
    ...othersOf('within the window', spread),
  ];
  return { figures: { size, together, spread, bullmqDrainedMs: bullmqMs }, lines };
}

function othersOf(when: string, { others }: Herd): Line[] {
  return [
    { what: `  lag of others ${when}, p50`, value: others.p50Ms, unit: 'ms' },
    { what: `  lag of others ${when}, p99`, value: others.p99Ms, unit: 'ms' },
  ];
}

async function runHerd(bench: Bench, windowMs: number): Promise<Herd> {
  const filled = await bench.filled(0);
  const harness = { ...bench.harness, stores: filled.stores };
  const { size, leadMs } = bench.sizes.herd;
  const others = await startReceiver();
  const { node, atMs } = await startHerd(harness, filled, { size, windowMs, leadMs, concurrency: CONCURRENCY });
  try {
    const arrived = await expectMessages(harness, size);
    await expectMessages(others, Infinity);
    await sleepUntil(atMs - SLICE_LEAD_MS);
    const drained = { yet: false };
    const publishing = publishOthers(node, others.url, atMs, drained);
    await arrived();
    await untilRecorded(harness.stores, atMs);
    const drainedMs = Math.round(now() - atMs);
    drained.yet = true;
    const messages = await publishing;
    const { lagsMs } = await untilAll(others, messages);
    const at = (share: number): number => rounded(percentile(lagsMs, share), 1);
    return { windowMs, drainedMs, others: { messages, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) } };
  } finally {
    await node.stop();
    await others.receiver.stop();
    await filled.tidy();
  }
}

/** Messages of somebody else, at random milliseconds from `fromMs` on until the herd is gone. Gives how many. */
async function publishOthers(
  node: CarillonNode,
  url: string,
  fromMs: number,
  drained: { readonly yet: boolean },
): Promise<number> {
  const perSlice = Math.ceil((OTHERS_PER_SECOND * SLICE_MS) / 1_000);
  let published = 0;
  for (let slice = 0; !drained.yet; slice++) {
    const sliceMs = fromMs + slice * SLICE_MS;
    await sleepUntil(sliceMs - SLICE_LEAD_MS);
    const due = Array.from({ length: perSlice }, (_, index) => ({
      index: published + index,
      dueAtMs: sliceMs + Math.floor(Math.random() * SLICE_MS),
    }));
    await node.publish(url, due, { tellDue: true });
    published += perSlice;
  }
  return published;
}

async function untilAll({ receiver }: Awaited<ReturnType<typeof startReceiver>>, messages: number): Promise<Arrivals> {
  for (;;) {
    const report = await receiver.ask<Arrivals>({ kind: 'report' }, 'arrived');
    if (report.messages >= messages) return report;
    await sleep(POLL_MS);
  }
}
