/**
 * How many deliveries a second, and what they cost: messages that come due at one moment, to a local receiver, beside the bare
 * loop of calls (the floor) and BullMQ, on the same stores.
 *
 * One heat is one contender's turn with fresh processes, warmed up. The contenders take turns, in another order each round, so
 * that what else the machine does meets them all; the figures are medians over the rounds. A heat lasts from the moment the
 * messages are due until the last is delivered and recorded: for Carillon, in state `delivered` in the table; for BullMQ, removed
 * as completed. CPU is that of the node (or worker), of Redis and of PostgreSQL in that time. The receiver's is shown and not
 * counted, and so is what accepting the messages cost beforehand.
 */
import { parseArgs } from 'node:util';
import { startBullmq } from './bullmq-side.js';
import { startCarillon } from './carillon-node.js';
import { Child } from './child.js';
import { expectMessages, now, onCourse, sleep, sleepUntil, warmUp, type Course } from './course.js';
import { describeHeat, mediansOf, printMedians, type Contender, type Heat } from './delivery-report.js';
import { rounded, writeRecord } from './figures.js';
import { loadAverage } from './machine.js';
import { Meter, perThousand, type Cpu, type Used } from './meter.js';
import { COUNTING_STATEMENTS, printCounters, profilingArguments, resetCounters } from './profile.js';
import { bodyOf } from './signed-post.js';
import type { BenchStores } from './stores.js';

interface Task {
  readonly course: Course;
  readonly messages: number;
  readonly concurrency: number;
}

const CONTENDERS = ['floor', 'carillon', 'bullmq'] as const;
const FLOOR_WARM_UP = 2_000;
/** Between accepting and the moment that the messages are due. */
const FIRST_LEAD_MS = 8_000;
const CALM_MS = 500;
const SETTLE_MS = 200;
const POLL_MS = 4;
const BULLMQ_CHUNK = 1_000;

const options = parseArgs({
  options: {
    messages: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '50,200' },
    only: { type: 'string', default: CONTENDERS.join(',') },
    json: { type: 'boolean', default: false },
    /** Shows where the CPU goes. Counting costs time itself: no figures for the record. */
    profile: { type: 'boolean', default: false },
    'no-record': { type: 'boolean', default: false },
  },
}).values;

async function main(course: Course): Promise<void> {
  const heats = await runAll(course);
  const medians = mediansOf(heats);
  const figures = {
    messages: Number(options.messages),
    bodyBytes: 200,
    rounds: Number(options.rounds),
    medians,
    heats,
  };
  if (!options['no-record'] && !options.profile) writeRecord('delivery', course.stores.versions, figures);
  if (options.json) {
    console.log(JSON.stringify(figures));
  } else {
    console.log(`\n${options.messages} messages, medians of ${options.rounds}; CPU seconds for 1,000 deliveries\n`);
    printMedians(medians);
  }
}

async function runAll(course: Course): Promise<Heat[]> {
  const contenders = CONTENDERS.filter((name) => options.only.split(',').includes(name));
  const heats: Heat[] = [];
  for (const concurrency of options.concurrency.split(',').map(Number)) {
    const task: Task = { course, messages: Number(options.messages), concurrency };
    for (let round = 0; round < Number(options.rounds); round++) {
      for (let turn = 0; turn < contenders.length; turn++) {
        const contender = contenders[(round + turn) % contenders.length] ?? 'floor';
        await course.stores.flushRedis();
        const heat = await RUNS[contender](task);
        if (!options.json) console.error(describeHeat(heat));
        heats.push(heat);
      }
    }
  }
  return heats;
}

const RUNS: Readonly<Record<Contender, (task: Task) => Promise<Heat>>> = {
  floor: runFloor,
  carillon: runCarillon,
  bullmq: runBullmq,
};

async function runFloor(task: Task): Promise<Heat> {
  const { course, messages, concurrency } = task;
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

async function runCarillon(task: Task): Promise<Heat> {
  const { course, messages, concurrency } = task;
  const node = await startCarillon(course.stores, concurrency, options.profile ? profilingArguments() : []);
  try {
    await warmUp(course, (count) => node.publish(course.url, dueTogether(count, Date.now() + 1_000)));
    const meter = new Meter(course, node.pid);
    const { dueAtMs, used, done } = await acceptAhead(async (atMs) => {
      const arrived = await expectMessages(course, messages);
      await node.publish(course.url, dueTogether(messages, atMs));
      return async () => {
        await arrived();
        await untilRecorded(course.stores, atMs);
      };
    }, meter);
    const acceptCpu = perThousand(used, messages);
    if (options.profile) await resetCounters(course.stores);
    await sleepUntil(dueAtMs);
    meter.restart();
    await done();
    const durationMs = now() - dueAtMs;
    await sleep(SETTLE_MS);
    const heat = finish('carillon', task, meter, durationMs, acceptCpu);
    if (options.profile) await printCounters(course.stores);
    return heat;
  } finally {
    await node.stop();
  }
}

/**
 * Takes messages in that are all due at one moment, ahead of it; once more with a later moment on a machine that is too slow.
 * `take` gives the wait until all are done.
 */
async function acceptAhead(
  take: (dueAtMs: number) => Promise<() => Promise<unknown>>,
  meter: Meter,
): Promise<{ dueAtMs: number; used: Used; done: () => Promise<unknown> }> {
  for (let leadMs = FIRST_LEAD_MS; ; leadMs *= 2) {
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
async function untilRecorded({ table }: BenchStores, dueAtMs: number): Promise<void> {
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

async function runBullmq(task: Task): Promise<Heat> {
  const { course, messages, concurrency } = task;
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
    const { dueAtMs, used, done } = await acceptAhead(async (atMs) => {
      const completed = await bullmq.expectCompleted(messages);
      await add(messages, atMs);
      return completed;
    }, meter);
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

function dueTogether(count: number, dueAtMs: number): { index: number; dueAtMs: number }[] {
  return Array.from({ length: count }, (_, index) => ({ index, dueAtMs }));
}

function finish(contender: Contender, task: Task, meter: Meter, durationMs: number, acceptCpu: Cpu | null): Heat {
  const { messages, concurrency } = task;
  const used = meter.used();
  // Who does not use a store does not pay for what goes on there: PostgreSQL still tidies up after Carillon's turn.
  const counted = {
    node: used.node,
    redis: contender === 'floor' ? 0 : used.redis,
    postgres: contender === 'carillon' ? used.postgres : 0,
  };
  return {
    contender,
    concurrency,
    perSecond: Math.round(messages / (durationMs / 1_000)),
    cpu: perThousand(counted, messages),
    receiverCpu: rounded((used.receiver / messages) * 1_000, 4),
    acceptCpu,
    otherCores: used.otherCores,
    loadAverage: rounded(loadAverage(), 1),
  };
}

await onCourse(options.profile ? COUNTING_STATEMENTS : {}, main);
