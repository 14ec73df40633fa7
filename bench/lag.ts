/**
 * How late deliveries are: the receiver's arrival minus the due time, by one clock on one machine, for messages that come due at
 * random milliseconds, 200 a second, published a few seconds ahead; BullMQ's delayed jobs beside it, on the same Redis with its
 * default `hz`. And, compared with nobody, schedules that fire every second, all on the same beat.
 */
import { parseArgs } from 'node:util';
import { startCarillon } from './carillon-node.js';
import { expectMessages, onHarness, sleep, warmUp, type Harness } from './harness.js';
import { median, printTable, rounded, writeRecord } from './figures.js';
import {
  bullmqLag,
  carillonLag,
  CONCURRENCY,
  describeLag,
  lagOf,
  together,
  type Subject,
  type Lag,
  type Stream,
} from './lag-stream.js';
import { Meter, total } from './meter.js';

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

async function main(harness: Harness): Promise<void> {
  const lags: Lag[] = [];
  const wanted = options.only.split(',');
  for (let round = 0; round < Number(options.rounds); round++) {
    const turns: Subject[] = round % 2 === 0 ? ['carillon', 'bullmq'] : ['bullmq', 'carillon'];
    for (const subject of [...turns, 'schedules' as const].filter((name) => wanted.includes(name))) {
      await harness.stores.flushRedis();
      const lag = await RUNS[subject](harness);
      if (!options.json) console.error(describeLag(lag));
      lags.push(lag);
    }
  }
  report(harness, lags);
}

function stream(): Stream {
  return { perSecond: Number(options.rate), seconds: Number(options.seconds) };
}

const RUNS: Readonly<Record<Subject, (harness: Harness) => Promise<Lag>>> = {
  carillon: (harness) => carillonLag(harness, stream()),
  bullmq: (harness) => bullmqLag(harness, stream()),
  schedules: runSchedules,
};

async function runSchedules(harness: Harness): Promise<Lag> {
  const node = await startCarillon(harness.stores, CONCURRENCY);
  const count = Number(options.schedules);
  const ids = Array.from({ length: count }, (_, index) => `beat-${index}`);
  try {
    await warmUp(harness, (messages) => node.publish(harness.url, together(messages)));
    for (const id of ids) await node.schedule(id, '* * * * * *', harness.url);
    await sleep(REST_MS);
    const arrived = await expectMessages(harness, count * Number(options['schedule-seconds']));
    const meter = new Meter(harness, node.pid);
    const { lagsMs } = await arrived();
    const lag = lagOf('schedules', lagsMs, meter);
    for (const id of ids) await node.deleteSchedule(id);
    return lag;
  } finally {
    await node.stop();
  }
}

function report(harness: Harness, lags: readonly Lag[]): void {
  const contenders = [...new Set(lags.map(({ subject: contender }) => contender))];
  const medians = contenders.map((subject) => {
    const runs = lags.filter((lag) => lag.subject === subject);
    const middle = (value: (lag: Lag) => number): number => rounded(median(runs.map(value)), 2);
    return {
      subject,
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
  if (!options['no-record']) writeRecord('lag', harness.stores.versions, figures);
  if (options.json) {
    console.log(JSON.stringify(figures));
    return;
  }
  console.log(
    `\nLag in milliseconds at ${options.rate} a second for ${options.seconds} s; Redis at hz 10 (its default)\n`,
  );
  printTable(
    ['', 'p50', 'p99', 'max', 'CPU s / 1,000', 'others'],
    medians.map((row) => [row.subject, row.p50Ms, row.p99Ms, row.maxMs, row.cpu, row.otherCores]),
  );
}

await onHarness({}, main);
