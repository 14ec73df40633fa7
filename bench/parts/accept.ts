/**
 * Accept: messages a second that are durable when the client has its answer, one by one and in batches, due within a day (so that they go to
 * Redis as well) and far in the future. Beside it BullMQ's add and addBulk, and the same rows in a bare multi-row insert: the floor.
 */
import { startCarillon } from '../carillon-node.js';
import { Child, type Note } from '../child.js';
import { median, rounded } from '../figures.js';
import { Meter, perThousand } from '../meter.js';
import type { PublisherKind, PublisherOptions } from '../publisher.js';
import type { Bench, Line, PartResult } from './part.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOT = { fromMs: HOUR_MS, spanMs: 10 * HOUR_MS };
const COLD = { fromMs: 30 * DAY_MS, spanMs: 7 * DAY_MS };
const YEAR = { fromMs: 3 * DAY_MS, spanMs: 360 * DAY_MS };
const SINGLE = { items: 1, lanes: 64 };
const BATCH = { items: 500, lanes: 6 };
const BATCH_LEAST = 20_000;
const WARM_UP_SHARE = 0.25;

/** The name in the record, and how it publishes. */
const WAYS = {
  single: { kind: 'single', ...SINGLE, ...HOT },
  batch: { kind: 'batch', ...BATCH, ...HOT },
  batchCold: { kind: 'batch', ...BATCH, ...COLD },
  batchYear: { kind: 'batch', ...BATCH, ...YEAR },
  insert: { kind: 'insert', items: 500, lanes: 4, ...HOT },
  insertYear: { kind: 'insert', items: 500, lanes: 4, ...YEAR },
  bullmqAdd: { kind: 'add', ...SINGLE, ...HOT },
  bullmqAddBulk: { kind: 'addBulk', items: 1_000, lanes: 4, ...HOT },
} as const satisfies Record<string, Omit<PublisherOptions, 'url'>>;

type Way = keyof typeof WAYS;

interface Accepted {
  readonly perSecond: number;
  /** CPU seconds for 1,000 messages; `node` is none where the client itself is the contender. */
  readonly cpu: { readonly node: number; readonly redis: number; readonly postgres: number; readonly client: number };
  readonly otherCores: number;
}

export async function accept(bench: Bench): Promise<PartResult> {
  const ways = Object.keys(WAYS) as Way[];
  const runs = new Map(ways.map((way): [Way, Accepted[]] => [way, []]));
  for (let round = 0; round < bench.sizes.accept.rounds; round++) {
    for (const way of round % 2 === 0 ? ways : [...ways].reverse()) {
      const accepted = await acceptOnce(bench, way);
      bench.say(`accept ${way}: ${JSON.stringify(accepted)}`);
      runs.get(way)?.push(accepted);
    }
  }
  const medians = Object.fromEntries([...runs].map(([way, of]) => [way, medianOf(of)])) as Record<Way, Accepted>;
  return { figures: { ...medians, runs: Object.fromEntries(runs) }, lines: linesOf(medians) };
}

async function acceptOnce(bench: Bench, way: Way): Promise<Accepted> {
  const { harness, sizes } = bench;
  const filled = await bench.filled(0);
  const { stores, prefix } = filled;
  const options = WAYS[way];
  const usesNode = options.kind === 'single' || options.kind === 'batch';
  const node = usesNode ? await startCarillon(stores, 100, [], 'node-1', prefix) : null;
  const urls: Record<PublisherKind, string> = {
    single: node?.url ?? '',
    batch: node?.url ?? '',
    insert: stores.postgres.url,
    add: stores.redis.url,
    addBulk: stores.redis.url,
  };
  const publisher = new Child('publisher.js', { ...options, url: urls[options.kind] } satisfies PublisherOptions);
  try {
    await publisher.next('ready');
    const durationMs = sizes.accept.seconds * 1_000;
    await publisher.ask({ kind: 'run', durationMs: durationMs * WARM_UP_SHARE }, 'ran');
    const meter = new Meter({ ...harness, stores }, node?.pid ?? publisher.pid, publisher.pid);
    const ran = await publisher.ask<Ran>({ kind: 'run', durationMs }, 'ran');
    const used = meter.used();
    return {
      perSecond: Math.round((ran.messages / ran.durationMs) * 1_000),
      cpu: {
        ...perThousand({ ...used, node: node === null ? 0 : used.node }, ran.messages),
        client: rounded((used.client / ran.messages) * 1_000, 4),
      },
      otherCores: used.otherCores,
    };
  } finally {
    await publisher.stop();
    await node?.stop();
    await stores.table.query('truncate messages, attempts');
    await stores.flushRedis();
  }
}

interface Ran extends Note {
  readonly messages: number;
  readonly durationMs: number;
}

function medianOf(runs: readonly Accepted[]): Accepted {
  const middle = (value: (run: Accepted) => number): number => rounded(median(runs.map(value)), 4);
  return {
    perSecond: Math.round(middle((run) => run.perSecond)),
    cpu: {
      node: middle((run) => run.cpu.node),
      redis: middle((run) => run.cpu.redis),
      postgres: middle((run) => run.cpu.postgres),
      client: middle((run) => run.cpu.client),
    },
    otherCores: middle((run) => run.otherCores),
  };
}

function linesOf(medians: Record<Way, Accepted>): Line[] {
  const line = (what: string, way: Way, beside?: readonly [string, Way], atLeast?: number): Line => ({
    what,
    value: medians[way].perSecond,
    unit: 'a second',
    ...(beside === undefined
      ? {}
      : { beside: beside[0], ratio: rounded(medians[way].perSecond / medians[beside[1]].perSecond, 3) }),
    ...(atLeast === undefined ? {} : { must: { atLeast } }),
  });
  return [
    line('one by one', 'single', ['BullMQ add', 'bullmqAdd']),
    line('batches, due today', 'batch', ['BullMQ addBulk', 'bullmqAddBulk'], BATCH_LEAST),
    line('batches, due in a month', 'batchCold', ['bare insert', 'insert'], BATCH_LEAST),
    line('batches, due within a year', 'batchYear', ['bare insert of the same', 'insertYear']),
    line('bare insert, due today', 'insert'),
    line('BullMQ add', 'bullmqAdd'),
    line('BullMQ addBulk', 'bullmqAddBulk'),
  ];
}
