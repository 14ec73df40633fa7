/**
 * How late deliveries are: the receiver's arrival minus the due time, by one clock on one machine, for messages that come due at random
 * milliseconds at some rate, published a few seconds ahead.
 */
import { startBullmq } from './bullmq-side.js';
import { startCarillon, type CarillonNode } from './carillon-node.js';
import { expectMessages, sleepUntil, warmUp, type Harness } from './harness.js';
import { percentile, rounded } from './figures.js';
import { loadAverage } from './machine.js';
import { Meter, perThousand, total, type Cpu } from './meter.js';
import { bodyOf } from './signed-post.js';

export type Subject = 'carillon' | 'bullmq' | 'schedules';

export interface Lag {
  readonly subject: Subject;
  readonly deliveries: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The earliest arrival: never before the due time. */
  readonly minMs: number;
  /** CPU seconds for 1,000 messages, publishing included. */
  readonly cpu: Cpu;
  readonly otherCores: number;
  readonly loadAverage: number;
}

export interface Due {
  readonly index: number;
  readonly dueAtMs: number;
}

/** So many messages a second for so long. */
export interface Stream {
  readonly perSecond: number;
  readonly seconds: number;
}

const LEAD_MS = 3_000;
/** Messages that come due within this are published together. */
const SLICE_MS = 500;
export const CONCURRENCY = 200;

/** `beforehand` is done when the node is warm, just before the first message is published. */
export async function carillonLag(
  harness: Harness,
  stream: Stream,
  settings: Readonly<Record<string, string>> = {},
  beforehand: (node: CarillonNode) => Promise<void> = () => Promise.resolve(),
): Promise<Lag> {
  const node = await startCarillon(harness.stores, CONCURRENCY, [], 'node-1', settings);
  try {
    await warmUp(harness, (count) => node.publish(harness.url, together(count)));
    const publish = (slice: readonly Due[]): Promise<void> => node.publish(harness.url, slice, { tellDue: true });
    await beforehand(node);
    return await measure('carillon', harness, node.pid, stream, publish);
  } finally {
    await node.stop();
  }
}

export async function bullmqLag(harness: Harness, stream: Stream): Promise<Lag> {
  const bullmq = await startBullmq(harness, CONCURRENCY);
  const add = (due: readonly Due[], tellDue: boolean): Promise<void> =>
    bullmq.add(
      due.map(({ index, dueAtMs }) => ({
        data: { id: `msg_${index}`, body: bodyOf(index), dueAtMs: tellDue ? dueAtMs : null },
        dueAtMs,
      })),
    );
  try {
    await warmUp(harness, (count) => add(together(count), false));
    return await measure('bullmq', harness, bullmq.pid, stream, (slice) => add(slice, true));
  } finally {
    await bullmq.stop();
  }
}

export function together(count: number): Due[] {
  const dueAtMs = Date.now() + 1_000;
  return Array.from({ length: count }, (_, index) => ({ index, dueAtMs }));
}

/** Publishes slice by slice, each `LEAD_MS` before its first message is due, and waits for all. */
async function measure(
  subject: Subject,
  harness: Harness,
  pid: number,
  stream: Stream,
  publish: (slice: readonly Due[]) => Promise<void>,
): Promise<Lag> {
  const slices = Math.ceil((stream.seconds * 1_000) / SLICE_MS);
  const perSlice = Math.round((stream.perSecond * SLICE_MS) / 1_000);
  const arrived = await expectMessages(harness, slices * perSlice);
  const meter = new Meter(harness, pid);
  const firstDueAtMs = Date.now() + LEAD_MS + SLICE_MS;
  for (let slice = 0; slice < slices; slice++) {
    const fromMs = firstDueAtMs + slice * SLICE_MS;
    await sleepUntil(fromMs - LEAD_MS);
    await publish(
      Array.from({ length: perSlice }, (_, index) => ({
        index: slice * perSlice + index,
        dueAtMs: fromMs + Math.floor(Math.random() * SLICE_MS),
      })),
    );
  }
  const { lagsMs } = await arrived();
  return lagOf(subject, lagsMs, meter);
}

export function lagOf(subject: Subject, lagsMs: readonly number[], meter: Meter): Lag {
  const used = meter.used();
  return {
    subject,
    deliveries: lagsMs.length,
    p50Ms: rounded(percentile(lagsMs, 0.5), 2),
    p99Ms: rounded(percentile(lagsMs, 0.99), 2),
    maxMs: rounded(percentile(lagsMs, 1), 2),
    minMs: rounded(percentile(lagsMs, 0), 2),
    cpu: perThousand(used, lagsMs.length),
    otherCores: used.otherCores,
    loadAverage: rounded(loadAverage(), 1),
  };
}

export function describeLag(lag: Lag): string {
  return (
    `${lag.subject.padEnd(9)} ${lag.deliveries} deliveries: p50 ${lag.p50Ms} ms, p99 ${lag.p99Ms} ms, max ${lag.maxMs} ms, ` +
    `min ${lag.minMs} ms; CPU ${total(lag.cpu).toFixed(3)} (node ${lag.cpu.node.toFixed(3)}, Redis ${lag.cpu.redis.toFixed(3)}, ` +
    `PostgreSQL ${lag.cpu.postgres.toFixed(3)}); others used ${lag.otherCores.toFixed(2)} cores, load ${lag.loadAverage.toFixed(1)}`
  );
}
