/**
 * How late deliveries are: the receiver's arrival minus the due time, by one clock on one machine, for messages that come due at
 * random milliseconds, 200 a second, published a few seconds ahead; BullMQ's delayed jobs beside it, on the same Redis with its
 * default `hz`. And, compared with nobody, schedules that fire every second, all on the same beat.
 */
import { parseArgs } from 'node:util';
import { startBullmq } from './bullmq-side.js';
import { startCarillon } from './carillon-node.js';
import { expectMessages, onCourse, sleep, sleepUntil, warmUp, type Course } from './course.js';
import { median, percentile, printTable, rounded, writeRecord } from './figures.js';
import { loadAverage } from './machine.js';
import { Meter, perThousand, total, type Cpu } from './meter.js';
import { bodyOf } from './signed-post.js';

type Contender = 'carillon' | 'bullmq' | 'schedules';

interface Lag {
  readonly contender: Contender;
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

interface Due {
  readonly index: number;
  readonly dueAtMs: number;
}

const LEAD_MS = 3_000;
/** Messages that come due within this are published together. */
const SLICE_MS = 500;
const CONCURRENCY = 200;
const REST_MS = 2_000;

const options = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '2' },
    schedules: { type: 'string', default: '200' },
    'schedule-seconds': { type: 'string', default: '15' },
    only: { type: 'string', default: 'carillon,bullmq,schedules' },
    json: { type: 'boolean', default: false },
    'no-record': { type: 'boolean', default: false },
  },
}).values;

async function main(course: Course): Promise<void> {
  const lags: Lag[] = [];
  const wanted = options.only.split(',');
  for (let round = 0; round < Number(options.rounds); round++) {
    const turns: Contender[] = round % 2 === 0 ? ['carillon', 'bullmq'] : ['bullmq', 'carillon'];
    for (const contender of [...turns, 'schedules' as const].filter((name) => wanted.includes(name))) {
      await course.stores.flushRedis();
      const lag = await RUNS[contender](course);
      if (!options.json) console.error(describe(lag));
      lags.push(lag);
    }
  }
  report(course, lags);
}

const RUNS: Readonly<Record<Contender, (course: Course) => Promise<Lag>>> = {
  carillon: runCarillon,
  bullmq: runBullmq,
  schedules: runSchedules,
};

async function runCarillon(course: Course): Promise<Lag> {
  const node = await startCarillon(course.stores, CONCURRENCY);
  try {
    await warmUp(course, (count) => node.publish(course.url, together(count)));
    const publish = (slice: readonly Due[]): Promise<void> => node.publish(course.url, slice, { tellDue: true });
    return await measure('carillon', course, node.pid, publish);
  } finally {
    await node.stop();
  }
}

async function runBullmq(course: Course): Promise<Lag> {
  const bullmq = await startBullmq(course, CONCURRENCY);
  const add = (due: readonly Due[], tellDue: boolean): Promise<void> =>
    bullmq.add(
      due.map(({ index, dueAtMs }) => ({
        data: { id: `msg_${index}`, body: bodyOf(index), dueAtMs: tellDue ? dueAtMs : null },
        dueAtMs,
      })),
    );
  try {
    await warmUp(course, (count) => add(together(count), false));
    return await measure('bullmq', course, bullmq.pid, (slice) => add(slice, true));
  } finally {
    await bullmq.stop();
  }
}

function together(count: number): Due[] {
  const dueAtMs = Date.now() + 1_000;
  return Array.from({ length: count }, (_, index) => ({ index, dueAtMs }));
}

/** Publishes slice by slice, each `LEAD_MS` before its first message is due, and waits for all. */
async function measure(
  contender: Contender,
  course: Course,
  pid: number,
  publish: (slice: readonly Due[]) => Promise<void>,
): Promise<Lag> {
  const rate = Number(options.rate);
  const slices = Math.ceil((Number(options.seconds) * 1_000) / SLICE_MS);
  const perSlice = Math.round((rate * SLICE_MS) / 1_000);
  const arrived = await expectMessages(course, slices * perSlice);
  const meter = new Meter(course, pid);
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
  return lagOf(contender, lagsMs, meter);
}

async function runSchedules(course: Course): Promise<Lag> {
  const node = await startCarillon(course.stores, CONCURRENCY);
  const count = Number(options.schedules);
  const ids = Array.from({ length: count }, (_, index) => `beat-${index}`);
  try {
    await warmUp(course, (messages) => node.publish(course.url, together(messages)));
    for (const id of ids) await node.schedule(id, '* * * * * *', course.url);
    await sleep(REST_MS);
    const arrived = await expectMessages(course, count * Number(options['schedule-seconds']));
    const meter = new Meter(course, node.pid);
    const { lagsMs } = await arrived();
    const lag = lagOf('schedules', lagsMs, meter);
    for (const id of ids) await node.deleteSchedule(id);
    return lag;
  } finally {
    await node.stop();
  }
}

function lagOf(contender: Contender, lagsMs: readonly number[], meter: Meter): Lag {
  const used = meter.used();
  return {
    contender,
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

function report(course: Course, lags: readonly Lag[]): void {
  const contenders = [...new Set(lags.map(({ contender }) => contender))];
  const medians = contenders.map((contender) => {
    const runs = lags.filter((lag) => lag.contender === contender);
    const middle = (value: (lag: Lag) => number): number => rounded(median(runs.map(value)), 2);
    return {
      contender,
      p50Ms: middle((lag) => lag.p50Ms),
      p99Ms: middle((lag) => lag.p99Ms),
      maxMs: middle((lag) => lag.maxMs),
      cpu: middle((lag) => total(lag.cpu)),
      otherCores: middle((lag) => lag.otherCores),
    };
  });
  const figures = {
    perSecond: Number(options.rate),
    seconds: Number(options.seconds),
    schedules: Number(options.schedules),
    redisHz: 10,
    rounds: Number(options.rounds),
    medians,
    runs: lags,
  };
  if (!options['no-record']) writeRecord('lag', course.stores.versions, figures);
  if (options.json) {
    console.log(JSON.stringify(figures));
    return;
  }
  console.log(
    `\nLag in milliseconds at ${options.rate} a second for ${options.seconds} s; Redis at hz 10 (its default)\n`,
  );
  printTable(
    ['', 'p50', 'p99', 'max', 'CPU s / 1,000', 'others'],
    medians.map((row) => [row.contender, row.p50Ms, row.p99Ms, row.maxMs, row.cpu, row.otherCores]),
  );
}

function describe(lag: Lag): string {
  return (
    `${lag.contender.padEnd(9)} ${lag.deliveries} deliveries: p50 ${lag.p50Ms} ms, p99 ${lag.p99Ms} ms, max ${lag.maxMs} ms, ` +
    `min ${lag.minMs} ms; CPU ${total(lag.cpu).toFixed(3)} (node ${lag.cpu.node.toFixed(3)}, Redis ${lag.cpu.redis.toFixed(3)}, ` +
    `PostgreSQL ${lag.cpu.postgres.toFixed(3)}); others used ${lag.otherCores.toFixed(2)} cores, load ${lag.loadAverage.toFixed(1)}`
  );
}

await onCourse({}, main);
