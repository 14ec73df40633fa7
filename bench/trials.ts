/**
 * One heat is one contender's turn with fresh processes, warmed up, on messages that come due at one moment. It lasts from that moment until
 * the last is delivered and recorded: for Carillon, in state `delivered` in the table; for BullMQ, removed as completed. CPU is that of the
 * node (or worker), of Redis and of PostgreSQL in that time. The receiver's is shown and not counted, and so is what accepting the
 * messages cost beforehand.
 */
import { startBullmq } from './bullmq-side.js';
import { startCarillon, type CarillonNode } from './carillon-node.js';
import { Child } from './child.js';
import { expectMessages, now, sleep, sleepUntil, warmUp, type Harness } from './harness.js';
import type { Subject, Trial } from './delivery-report.js';
import { median, rounded } from './figures.js';
import { loadAverage } from './machine.js';
import { Meter, perThousand, total, type Cpu, type Used } from './meter.js';
import { printCounters, profilingArguments, resetCounters } from './profile.js';
import { bodyOf } from './signed-post.js';
import type { BenchStores } from './stores.js';

export interface Task {
  readonly harness: Harness;
  readonly messages: number;
  readonly concurrency: number;
  /** Settings of Carillon's node. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Between accepting and the moment that the messages are due; doubled on a machine that is too slow for it. */
  readonly leadMs?: number;
  /** Shows where the CPU goes. */
  readonly profile?: boolean;
  /** Starts what is there beside Carillon's node, in a process of its own whose CPU is not the node's. */
  readonly beside?: (node: CarillonNode) => Promise<Beside>;
}

/** A process that is there during a heat. */
export interface Beside {
  readonly pid: number;
  /** Told when what is measured begins, and when it is over. */
  begin(): Promise<void>;
  end(): Promise<void>;
  stop(): Promise<void>;
}

const FLOOR_WARM_UP = 2_000;
const FIRST_LEAD_MS = 8_000;
const CALM_MS = 500;
export const SETTLE_MS = 200;
const POLL_MS = 4;
const BULLMQ_CHUNK = 1_000;

export const HEATS: Readonly<Record<Subject, (task: Task) => Promise<Trial>>> = {
  floor: runFloor,
  carillon: runCarillon,
  bullmq: runBullmq,
};

async function runFloor(task: Task): Promise<Trial> {
  const { harness: course, messages, concurrency } = task;
  const loop = new Child('floor-loop.js', { url: course.url, concurrency });
  try {
    await loop.next('ready');
    await loop.ask({ kind: 'run', count: FLOOR_WARM_UP }, 'ran');
    const meter = new Meter(course, loop.pid);
    const startedAtMs = now();
    await loop.ask({ kind: 'run', count: messages }, 'ran');
    return finish('floor', task, meter, now() - startedAtMs, null);
  } finally {
    await loop.stop();
  }
}

async function runCarillon(task: Task): Promise<Trial> {
  const { harness: course, messages, concurrency, settings = {}, profile = false } = task;
  const node = await startCarillon(course.stores, concurrency, profile ? profilingArguments() : [], 'node-1', settings);
  let beside: Beside | null = null;
  try {
    await warmUp(course, (count) => node.publish(course.url, dueTogether(count, Date.now() + 1_000)));
    beside = (await task.beside?.(node)) ?? null;
    const meter = new Meter(course, node.pid, beside?.pid ?? null);
    const { dueAtMs, used, done } = await acceptLater(
      async (atMs) => {
        const arrived = await expectMessages(course, messages);
        await node.publish(course.url, dueTogether(messages, atMs));
        return async () => {
          await arrived();
          await untilRecorded(course.stores, atMs);
        };
      },
      meter,
      task.leadMs,
    );
    const acceptCpu = perThousand(used, messages);
    if (profile) await resetCounters(course.stores);
    await sleepUntil(dueAtMs);
    meter.restart();
    await beside?.begin();
    await done();
    const durationMs = now() - dueAtMs;
    await beside?.end();
    await sleep(SETTLE_MS);
    const trial = finish('carillon', task, meter, durationMs, acceptCpu);
    if (profile) await printCounters(course.stores);
    return trial;
  } finally {
    await beside?.stop();
    await node.stop();
  }
}

/**
 * Takes messages in that are all due at one moment, ahead of it; once more with a later moment on a machine that is too slow.
 * `take` gives the wait until all are done.
 */
export async function acceptLater(
  take: (dueAtMs: number) => Promise<() => Promise<unknown>>,
  meter: Meter,
  firstLeadMs = FIRST_LEAD_MS,
): Promise<{ dueAtMs: number; used: Used; done: () => Promise<unknown> }> {
  for (let leadMs = firstLeadMs; ; leadMs *= 2) {
    meter.restart();
    const dueAtMs = Date.now() + leadMs;
    const done = await take(dueAtMs);
    const used = meter.used();
    if (Date.now() < dueAtMs - CALM_MS) return { dueAtMs, used, done };
    console.error(`accepting took longer than ${leadMs - CALM_MS} ms; once more with a longer lead`);
    await done();
  }
}

/** Waits until no message due at that moment is pending. */
export async function untilRecorded({ table }: BenchStores, dueAtMs: number): Promise<void> {
  const prefix = dueAtMs.toString(16).padStart(12, '0');
  const range = [`${prefix}${'0'.repeat(20)}`, `${prefix}${'f'.repeat(20)}`];
  for (;;) {
    const { rowCount } = await table.query({
      name: 'pending',
      text: `select 1 from messages where id between $1 and $2 and state = 'pending' limit 1`,
      values: range,
    });
    if (rowCount === 0) return;
    await sleep(POLL_MS);
  }
}

async function runBullmq(task: Task): Promise<Trial> {
  const { harness: course, messages, concurrency } = task;
  const bullmq = await startBullmq(course, concurrency);
  const add = async (count: number, dueAtMs: number): Promise<void> => {
    const due = dueTogether(count, dueAtMs);
    for (let first = 0; first < count; first += BULLMQ_CHUNK) {
      await bullmq.add(
        due.slice(first, first + BULLMQ_CHUNK).map(({ index }) => ({
          data: { id: `msg_${index}`, body: bodyOf(index), dueAtMs: null },
          dueAtMs,
        })),
      );
    }
  };
  try {
    await warmUp(course, (count) => add(count, Date.now() + 1_000));
    const meter = new Meter(course, bullmq.pid);
    const { dueAtMs, used, done } = await acceptLater(
      async (atMs) => {
        const completed = await bullmq.expectCompleted(messages);
        await add(messages, atMs);
        return completed;
      },
      meter,
      task.leadMs,
    );
    // The producer is this process.
    const acceptCpu = perThousand({ node: used.own, redis: used.redis, postgres: 0 }, messages);
    await sleepUntil(dueAtMs);
    meter.restart();
    await done();
    const durationMs = now() - dueAtMs;
    await sleep(SETTLE_MS);
    return finish('bullmq', task, meter, durationMs, acceptCpu);
  } finally {
    await bullmq.stop();
  }
}

export function dueTogether(count: number, dueAtMs: number): { index: number; dueAtMs: number }[] {
  return Array.from({ length: count }, (_, index) => ({ index, dueAtMs }));
}

/** Of some heats, the medians. */
export interface Delivered {
  readonly perSecond: number;
  /** CPU seconds for 1,000 deliveries, of nodes (or workers) and stores. */
  readonly cpuPer1000: number;
}

export function deliveredBy(trials: readonly Trial[]): Delivered {
  return {
    perSecond: Math.round(median(trials.map(({ perSecond }) => perSecond))),
    cpuPer1000: rounded(median(trials.map(({ cpu }) => total(cpu))), 4),
  };
}

export function finish(
  subject: Subject,
  { messages, concurrency }: Pick<Task, 'messages' | 'concurrency'>,
  meter: Meter,
  durationMs: number,
  acceptCpu: Cpu | null,
): Trial {
  const used = meter.used();
  // Who does not use a store does not pay for what goes on there: PostgreSQL still tidies up after Carillon's turn.
  const counted = {
    node: used.node,
    redis: subject === 'floor' ? 0 : used.redis,
    postgres: subject === 'carillon' ? used.postgres : 0,
  };
  return {
    subject,
    concurrency,
    perSecond: Math.round(messages / (durationMs / 1_000)),
    cpu: perThousand(counted, messages),
    receiverCpu: rounded((used.receiver / messages) * 1_000, 4),
    besideCpu: rounded((used.client / messages) * 1_000, 4),
    acceptCpu,
    otherCores: used.otherCores,
    loadAverage: rounded(loadAverage(), 1),
  };
}
