/**
 * Deliver: messages that come due at one moment, a second, and the CPU they cost, beside BullMQ and a bare loop of calls; then the same with
 * a table full of cold rows, with schedules (each delivery an occurrence), and with three nodes on the same machine.
 */
import { startCarillon, type CarillonNode } from '../carillon-node.js';
import { expectMessages, now, sleep, sleepUntil, warmUp } from '../harness.js';
import type { Trial } from '../delivery-report.js';
import { rounded } from '../figures.js';
import type { FilledDatabase } from '../filled.js';
import {
  acceptLater,
  type Delivered,
  deliveredBy,
  dueTogether,
  finish,
  HEATS,
  SETTLE_MS,
  untilRecorded,
  type Task,
} from '../trials.js';
import { startHerd } from '../herd-start.js';
import { Meter, total } from '../meter.js';
import { mostRows, type Bench, type Line, type PartResult } from './part.js';

const NODES = 3;
const TIMES_BULLMQ_LEAST = 1.2;

const WAYS = ['floor', 'bullmq', 'carillon', 'coldRows', 'schedules', 'threeNodes'] as const;
type Way = (typeof WAYS)[number];

export async function deliver(bench: Bench): Promise<PartResult> {
  const trials = new Map(WAYS.map((way): [Way, Trial[]] => [way, []]));
  for (let round = 0; round < bench.sizes.deliver.rounds; round++) {
    for (const way of round % 2 === 0 ? WAYS : [...WAYS].reverse()) {
      await bench.harness.stores.flushRedis();
      const trial = await RUNS[way](bench);
      bench.say(
        `deliver ${way}: ${trial.perSecond} a second, CPU ${total(trial.cpu).toFixed(3)}, others ${trial.otherCores}`,
      );
      trials.get(way)?.push(trial);
    }
  }
  for (const rows of [0, mostRows(bench)]) await (await bench.filled(rows)).tidy();
  const medians = Object.fromEntries([...trials].map(([way, of]) => [way, deliveredBy(of)])) as Record<Way, Delivered>;
  const { carillon, bullmq } = medians;
  const figures = {
    ...bench.sizes.deliver,
    ...carillon,
    ratioToBullmq: rounded(carillon.perSecond / bullmq.perSecond, 3),
    cpuRatioToBullmq: rounded(carillon.cpuPer1000 / bullmq.cpuPer1000, 3),
    medians,
    trials: Object.fromEntries(trials),
  };
  return { figures, lines: linesOf(medians) };
}

const RUNS: Readonly<Record<Way, (bench: Bench) => Promise<Trial>>> = {
  floor: (bench) => HEATS.floor(taskOf(bench)),
  bullmq: (bench) => HEATS.bullmq(taskOf(bench)),
  carillon: async (bench) => HEATS.carillon(taskOf(bench, await bench.filled(0))),
  coldRows: async (bench) => HEATS.carillon(taskOf(bench, await bench.filled(mostRows(bench)))),
  schedules: runSchedules,
  threeNodes: runThreeNodes,
};

function taskOf({ harness, sizes }: Bench, filled?: FilledDatabase): Task {
  const { messages, concurrency, leadMs } = sizes.deliver;
  const task = { harness, messages, concurrency, leadMs };
  if (filled === undefined) return task;
  return { ...task, harness: { ...harness, stores: filled.stores }, settings: filled.prefix };
}

async function runSchedules(bench: Bench): Promise<Trial> {
  const filled = await bench.filled(0);
  const { harness: course, messages, concurrency } = taskOf(bench, filled);
  const { node, atMs } = await startHerd(course, filled, {
    size: messages,
    windowMs: 0,
    concurrency,
    leadMs: bench.sizes.herd.leadMs,
  });
  try {
    const arrived = await expectMessages(course, messages);
    await sleepUntil(atMs);
    const meter = new Meter(course, node.pid);
    await arrived();
    await untilRecorded(course.stores, atMs);
    const durationMs = now() - atMs;
    await sleep(SETTLE_MS);
    return finish('carillon', { messages, concurrency }, meter, durationMs, null);
  } finally {
    await node.stop();
    await filled.tidy();
  }
}

async function runThreeNodes(bench: Bench): Promise<Trial> {
  const filled = await bench.filled(0);
  const { harness: course, messages, concurrency } = taskOf(bench, filled);
  const share = Math.ceil(concurrency / NODES);
  const names = Array.from({ length: NODES }, (_, index) => `node-${index + 1}`);
  const nodes: CarillonNode[] = [];
  try {
    const started = names.map((name) => startCarillon(course.stores, share, [], name, filled.prefix));
    nodes.push(...(await Promise.all(started)));
    const [first] = nodes;
    if (first === undefined) throw new Error('no nodes');
    await sleep(bench.sizes.deliver.sharingMs);
    // As many for each of them as for one alone.
    for (const _node of nodes) {
      await warmUp(course, (count) => first.publish(course.url, dueTogether(count, Date.now() + 1_000)));
    }
    const pids = nodes.map(({ pid }) => pid);
    const meter = new Meter(course, pids);
    const { dueAtMs, done } = await acceptLater(
      async (atMs) => {
        const arrived = await expectMessages(course, messages);
        await first.publish(course.url, dueTogether(messages, atMs));
        return async () => {
          await arrived();
          await untilRecorded(course.stores, atMs);
        };
      },
      meter,
      bench.sizes.deliver.leadMs,
    );
    await sleepUntil(dueAtMs);
    meter.restart();
    await done();
    const durationMs = now() - dueAtMs;
    await sleep(SETTLE_MS);
    return finish('carillon', { messages, concurrency }, meter, durationMs, null);
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
  }
}

const NAMES: Readonly<Record<Way, string>> = {
  floor: 'a bare loop of calls',
  bullmq: 'BullMQ, nothing kept',
  carillon: 'Carillon, a row kept for each',
  coldRows: 'Carillon, the table full of cold rows',
  schedules: 'Carillon, each an occurrence of a schedule',
  threeNodes: 'Carillon, three nodes on this machine',
};

function linesOf(medians: Record<Way, Delivered>): Line[] {
  const { bullmq } = medians;
  return WAYS.flatMap((way): Line[] => {
    const { perSecond, cpuPer1000 } = medians[way];
    const compared = way === 'bullmq' ? {} : { beside: 'BullMQ' };
    const ratio = (value: number, to: number): { ratio?: number } =>
      way === 'bullmq' ? {} : { ratio: rounded(value / to, 3) };
    const judged = way === 'carillon' || way === 'coldRows';
    return [
      {
        what: NAMES[way],
        value: perSecond,
        unit: 'a second',
        ...compared,
        ...ratio(perSecond, bullmq.perSecond),
        ...(judged ? { must: { atLeast: Math.round(TIMES_BULLMQ_LEAST * bullmq.perSecond) } } : {}),
      },
      {
        what: '  CPU for 1,000',
        value: cpuPer1000,
        unit: 's',
        ...compared,
        ...ratio(cpuPer1000, bullmq.cpuPer1000),
        ...(judged ? { must: { atMost: bullmq.cpuPer1000 } } : {}),
      },
    ];
  });
}
