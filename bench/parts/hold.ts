/**
 * Hold: what waiting work takes. A message or schedule that is due far in the future lies in the table only, one due within a day also in
 * Redis; BullMQ's delayed jobs and job schedulers lie in Redis whenever they are due.
 */
import { addJobs, openQueue, redisConnection } from '../bullmq-queue.js';
import { startCarillon } from '../carillon-node.js';
import { cloneMessages, cloneSchedules } from '../clone-rows.js';
import { rounded } from '../figures.js';
import type { FilledDatabase } from '../filled.js';
import { untilSwept, usedMemory } from '../queue-use.js';
import { bodyOf } from '../signed-post.js';
import type { Bench, Line, PartResult } from './part.js';

const HOUR_MS = 3_600_000;
const NOWHERE = 'http://127.0.0.1:9/nowhere';
const MIB = 2 ** 20;
/** What all of it together may take in Redis, however much is due beyond a day. */
const ABOVE_EMPTY_MOST_MIB = 64;
const BODY_BYTES = 200;
/** Less of them, since they are published one batch after the other, and due soon. */
const IMMEDIATE_SHARE = 10;
const IMMEDIATE_MS = 10 * 60_000;

interface Held {
  readonly rows: number;
  readonly fillSeconds: number;
  /** Redis's `used_memory` with a node running, and how much of it is above an empty Redis. */
  readonly redisUsedBytes: number;
  readonly redisAboveEmptyBytes: number;
  readonly postgresBytesPerMessage: number;
  readonly postgresBytesPerSchedule: number;
}

export async function footprint(bench: Bench): Promise<PartResult> {
  const { sizes } = bench;
  await bench.harness.stores.flushRedis();
  const emptyBytes = await usedMemory(bench.harness.stores, sizes.hold.samples);
  const held: Held[] = [];
  for (const rows of sizes.rows) {
    const one = await holdCold(bench, await bench.filled(rows), emptyBytes);
    bench.say(`hold: ${JSON.stringify(one)}`);
    held.push(one);
  }
  const none = held[0];
  const most = held.at(-1);
  if (none === undefined || most === undefined) throw new Error('no table sizes');
  const near = await holdNear(bench);
  const bullmq = await holdJobs(bench);
  const figures = {
    emptyRedisBytes: emptyBytes,
    sizes: held,
    redisBytesPerColdMessage: rounded((most.redisUsedBytes - none.redisUsedBytes) / Math.max(1, most.rows), 4),
    ...near,
    bullmq,
  };
  return { figures, lines: linesOf(most, figures, near, bullmq) };
}

/** A node on a table full of cold work: once its sweeps are through, Redis holds what it will hold. */
async function holdCold(bench: Bench, filled: FilledDatabase, emptyBytes: number): Promise<Held> {
  const { stores, rows, prefix } = filled;
  await stores.flushRedis();
  const node = await startCarillon(stores, 50, [], 'node-1', prefix);
  try {
    await untilSwept(stores, filled.prefix.CARILLON_REDIS_PREFIX ?? '');
    const redisUsedBytes = await usedMemory(stores, bench.sizes.hold.samples);
    return {
      rows,
      fillSeconds: filled.fillSeconds,
      redisUsedBytes,
      redisAboveEmptyBytes: redisUsedBytes - emptyBytes,
      postgresBytesPerMessage: Math.round(filled.messageBytes / Math.max(1, rows)),
      postgresBytesPerSchedule: Math.round(filled.scheduleBytes / Math.max(1, rows)),
    };
  } finally {
    await node.stop();
  }
}

interface Near {
  readonly redisBytesPerHotMessage: number;
  /** Due within minutes: its payload lies in Redis as well. */
  readonly redisBytesPerImmediateMessage: number;
  readonly redisBytesPerHotSchedule: number;
}

/** What comes due within a day takes a place in Redis: what that costs for each. */
async function holdNear(bench: Bench): Promise<Near> {
  const filled = await bench.filled(0);
  const { hot } = bench.sizes.hold;
  const immediate = Math.ceil(hot / IMMEDIATE_SHARE);
  const used = (publish?: number): Promise<number> => usedByNode(bench, filled, publish);
  await filled.tidy();
  const none = await used();
  const withImmediate = await used(immediate);
  await filled.tidy();
  await filled.inChunks(hot, (chunk) => cloneMessages(chunk, Date.now() + 2 * HOUR_MS, 18 * HOUR_MS));
  const withMessages = await used();
  await filled.tidy();
  await filled.inChunks(hot, (chunk) => cloneSchedules(chunk, Date.now() + 2 * HOUR_MS, 18 * HOUR_MS, 'hot'));
  const withSchedules = await used();
  await filled.tidy();
  return {
    redisBytesPerHotMessage: Math.round((withMessages - none) / hot),
    redisBytesPerImmediateMessage: Math.round((withImmediate - none) / immediate),
    redisBytesPerHotSchedule: Math.round((withSchedules - none) / hot),
  };
}

/** Redis's memory when a node has swept an emptied Redis full, and so many messages that are due in minutes were published. */
async function usedByNode(bench: Bench, { stores, prefix }: FilledDatabase, publish = 0): Promise<number> {
  await stores.flushRedis();
  const node = await startCarillon(stores, 50, [], 'node-1', prefix);
  try {
    await untilSwept(stores, prefix.CARILLON_REDIS_PREFIX ?? '');
    const dueAtMs = Date.now() + IMMEDIATE_MS;
    await node.publish(
      NOWHERE,
      Array.from({ length: publish }, (_, index) => ({ index, dueAtMs: dueAtMs + index })),
    );
    return await usedMemory(stores, bench.sizes.hold.samples);
  } finally {
    await node.stop();
  }
}

interface Jobs {
  readonly jobs: number;
  readonly redisBytesPerDelayedJob: number;
  readonly redisBytesPerJobScheduler: number;
}

const CHUNK = 1_000;

async function holdJobs({ harness, sizes }: Bench): Promise<Jobs> {
  const { jobs } = sizes.hold;
  await harness.stores.flushRedis();
  const queue = openQueue(redisConnection(harness.stores.redis.url));
  try {
    await queue.waitUntilReady();
    const none = await usedMemory(harness.stores, sizes.hold.samples);
    for (let first = 0; first < jobs; first += CHUNK) {
      const numbers = Array.from({ length: Math.min(CHUNK, jobs - first) }, (_, index) => first + index);
      const inMonths = Date.now() + 90 * 24 * HOUR_MS;
      await addJobs(
        queue,
        numbers.map((number) => ({
          data: { id: `msg_${number}`, body: bodyOf(number), dueAtMs: null },
          dueAtMs: inMonths + number,
        })),
      );
    }
    const withJobs = await usedMemory(harness.stores, sizes.hold.samples);
    for (let first = 0; first < jobs; first += CHUNK) {
      const numbers = Array.from({ length: Math.min(CHUNK, jobs - first) }, (_, index) => first + index);
      await Promise.all(
        numbers.map((number) =>
          queue.upsertJobScheduler(
            `job-${number}`,
            { pattern: `${number % 60} ${Math.floor(number / 60) % 24} 1 1 *`, tz: 'UTC' },
            { name: 'deliver', data: { id: `msg_${number}`, body: bodyOf(number), dueAtMs: null } },
          ),
        ),
      );
    }
    const withAll = await usedMemory(harness.stores, sizes.hold.samples);
    return {
      jobs,
      redisBytesPerDelayedJob: Math.round((withJobs - none) / jobs),
      redisBytesPerJobScheduler: Math.round((withAll - withJobs) / jobs),
    };
  } finally {
    await queue.close();
    await harness.stores.flushRedis();
  }
}

function linesOf(most: Held, cold: { readonly redisBytesPerColdMessage: number }, near: Near, bullmq: Jobs): Line[] {
  const job = { beside: 'BullMQ delayed job' };
  const scheduler = { beside: 'BullMQ job scheduler' };
  const toJob = (bytes: number): number => rounded(bytes / bullmq.redisBytesPerDelayedJob, 4);
  const toScheduler = (bytes: number): number => rounded(bytes / bullmq.redisBytesPerJobScheduler, 4);
  const many = most.rows.toLocaleString('en');
  return [
    {
      what: `Redis above empty, ${many} messages and schedules`,
      value: rounded(most.redisAboveEmptyBytes / MIB, 1),
      unit: 'MiB',
      must: { atMost: ABOVE_EMPTY_MOST_MIB },
    },
    {
      what: 'Redis, each cold message and schedule',
      value: cold.redisBytesPerColdMessage,
      unit: 'bytes',
      ...job,
      ratio: toJob(cold.redisBytesPerColdMessage),
    },
    {
      what: 'Redis, each hot message',
      value: near.redisBytesPerHotMessage,
      unit: 'bytes',
      ...job,
      ratio: toJob(near.redisBytesPerHotMessage),
      must: { atMost: 200 },
    },
    {
      what: 'Redis, each immediate message, body included',
      value: near.redisBytesPerImmediateMessage,
      unit: 'bytes',
      ...job,
      ratio: toJob(near.redisBytesPerImmediateMessage),
      must: { atMost: 200 + BODY_BYTES },
    },
    {
      what: 'Redis, each hot schedule',
      value: near.redisBytesPerHotSchedule,
      unit: 'bytes',
      ...scheduler,
      ratio: toScheduler(near.redisBytesPerHotSchedule),
    },
    { what: 'Redis, each BullMQ delayed job', value: bullmq.redisBytesPerDelayedJob, unit: 'bytes' },
    { what: 'Redis, each BullMQ job scheduler', value: bullmq.redisBytesPerJobScheduler, unit: 'bytes' },
    { what: 'table, each message', value: most.postgresBytesPerMessage, unit: 'bytes' },
    { what: 'table, each schedule', value: most.postgresBytesPerSchedule, unit: 'bytes' },
    { what: `filling the table with ${many} of each`, value: most.fillSeconds, unit: 's' },
  ];
}
