/** Watchers: deliveries a second, and the CPU they cost, with admin websockets open that read every delta, beside none. */
import type { CarillonNode } from '../carillon-node.js';
import { Child } from '../child.js';
import type { Trial } from '../delivery-report.js';
import { median, rounded } from '../figures.js';
import { type Beside, type Delivered, deliveredBy, HEATS, type Task } from '../trials.js';
import { total } from '../meter.js';
import type { Watched } from '../watcher.js';
import type { Bench, Line, PartResult } from './part.js';

const WAYS = ['none', 'watched'] as const;
type Way = (typeof WAYS)[number];

const RATIO_LEAST = 0.95;

interface Watching extends Delivered {
  /** CPU seconds of the watchers meanwhile, for 1,000 deliveries: not the node's. */
  readonly watchersCpuPer1000: number;
}

export async function watchers(bench: Bench): Promise<PartResult> {
  const { sockets, rounds } = bench.sizes.watchers;
  const filled = await bench.filled(0);
  const trials = new Map(WAYS.map((way): [Way, Trial[]] => [way, []]));
  const seen: Watched[] = [];
  const { messages, concurrency, leadMs } = bench.sizes.deliver;
  const task: Task = {
    ...{ messages, concurrency, leadMs, settings: filled.prefix },
    harness: { ...bench.harness, stores: filled.stores },
  };
  for (let round = 0; round < rounds; round++) {
    for (const way of round % 2 === 0 ? WAYS : [...WAYS].reverse()) {
      await bench.harness.stores.flushRedis();
      const trial = await HEATS.carillon(
        way === 'none' ? task : { ...task, beside: (node) => startWatchers(node, sockets, seen) },
      );
      bench.say(
        `watchers ${way}: ${trial.perSecond} a second, CPU ${total(trial.cpu).toFixed(3)}, others ${trial.otherCores}`,
      );
      trials.get(way)?.push(trial);
    }
  }
  await filled.tidy();
  const medians = Object.fromEntries([...trials].map(([way, of]) => [way, medianOf(of)])) as Record<Way, Watching>;
  const socket = eachSocket(seen, sockets);
  const ratio = ratioOf(trials, ({ perSecond }) => perSecond);
  const cpuRatio = ratioOf(trials, ({ cpu }) => total(cpu));
  return {
    figures: {
      sockets,
      rounds,
      messages,
      concurrency,
      ratio,
      cpuRatio,
      ...socket,
      medians,
      trials: Object.fromEntries(trials),
    },
    lines: linesOf(sockets, medians, { ratio, cpuRatio, ...socket }),
  };
}

/** Opens the sockets; `seen` gets what they read in the heat. */
async function startWatchers(node: CarillonNode, sockets: number, seen: Watched[]): Promise<Beside> {
  const child = new Child('watcher.js', { url: node.url, sockets });
  try {
    await child.next('watching');
  } catch (error) {
    await child.stop();
    throw error;
  }
  return {
    pid: child.pid,
    begin: async () => {
      await child.ask({ kind: 'begin' }, 'begun');
    },
    end: async () => {
      seen.push(await child.ask<Watched>({ kind: 'end' }, 'ended'));
    },
    stop: () => child.stop(),
  };
}

interface EachSocket {
  readonly bytesPerSecond: number;
  readonly deltasPerSecond: number;
  /** Of all sockets in all rounds: what they missed, and those that were closed. */
  readonly problems: number;
}

function eachSocket(seen: readonly Watched[], sockets: number): EachSocket {
  const perSecond = (of: (one: Watched) => number): number =>
    median(seen.map((one) => of(one) / sockets / (one.durationMs / 1_000)));
  return {
    bytesPerSecond: Math.round(perSecond(({ bytes }) => bytes)),
    deltasPerSecond: rounded(
      perSecond(({ deltas }) => deltas),
      2,
    ),
    problems: seen.reduce((sum, { problems }) => sum + problems, 0),
  };
}

/** With watchers, divided by that without: the median over the rounds, since the two heats of a round are neighbours in time. */
function ratioOf(trials: ReadonlyMap<Way, readonly Trial[]>, of: (trial: Trial) => number): number {
  const none = trials.get('none') ?? [];
  const ratios = (trials.get('watched') ?? []).flatMap((trial, round) => {
    const beside = none[round];
    return beside === undefined ? [] : of(trial) / of(beside);
  });
  return rounded(median(ratios), 3);
}

function medianOf(trials: readonly Trial[]): Watching {
  return {
    ...deliveredBy(trials),
    watchersCpuPer1000: rounded(median(trials.map(({ besideCpu }) => besideCpu)), 4),
  };
}

function linesOf(
  sockets: number,
  { none, watched }: Record<Way, Watching>,
  {
    ratio,
    cpuRatio,
    bytesPerSecond,
    deltasPerSecond,
    problems: faults,
  }: EachSocket & { ratio: number; cpuRatio: number },
): Line[] {
  return [
    { what: 'nobody watches', value: none.perSecond, unit: 'a second' },
    { what: '  CPU for 1,000', value: none.cpuPer1000, unit: 's' },
    {
      what: `${sockets} admin websockets are open`,
      value: watched.perSecond,
      unit: 'a second',
      ...{ beside: 'nobody watches', ratio },
    },
    { what: '  as a share of that', value: ratio, unit: '', must: { atLeast: RATIO_LEAST } },
    {
      what: '  CPU for 1,000',
      value: watched.cpuPer1000,
      unit: 's',
      ...{ beside: 'nobody watches', ratio: cpuRatio },
    },
    { what: '  CPU of the watchers, for 1,000', value: watched.watchersCpuPer1000, unit: 's' },
    { what: '  a socket gets', value: bytesPerSecond, unit: 'bytes/s' },
    { what: '  in deltas', value: deltasPerSecond, unit: 'a second' },
    { what: '  deltas missed, sockets closed', value: faults, unit: '', must: { atMost: 0 } },
  ];
}
