/**
 * Lag: how late deliveries are at some rates, with a table full of cold rows, beside BullMQ; and while the sweeps promote very many messages,
 * which is what moves each day's work into Redis.
 */
import { cloneMessages } from '../clone-rows.js';
import { sleepUntil } from '../harness.js';
import { rounded } from '../figures.js';
import type { FilledDatabase } from '../filled.js';
import { bullmqLag, carillonLag, describeLag, type Lag, type Stream } from '../lag-stream.js';
import { queuedEntries, untilSwept } from '../queue-use.js';
import { mostRows, type Bench, type Line, type PartResult } from './part.js';

const HOUR_MS = 3_600_000;
/** As promote.ts: the horizon reaches so much further than the settings say. */
const HORIZON_MARGIN_MS = 60_000;
const INSERT_ALLOWANCE_MS = 15_000;
/** The rate at which the promise is given. */
const PROMISED_RATE = 200;
const P99_MOST_MS = 50;
const SWEEPING_MOST = 2;

interface AtRate {
  readonly perSecond: number;
  readonly coldRows: Lag;
  readonly bullmq: Lag;
}

interface Sweeping {
  readonly promoted: number;
  readonly lag: Lag;
}

export async function lag(bench: Bench): Promise<PartResult> {
  const { sizes, harness } = bench;
  const filled = await bench.filled(mostRows(bench));
  const empty = await bench.filled(0);
  const { seconds } = sizes.lag;
  const rates: AtRate[] = [];
  for (const perSecond of sizes.lag.rates) {
    const stream = { perSecond, seconds };
    await harness.stores.flushRedis();
    const bullmq = await bullmqLag(harness, stream);
    bench.say(describeLag(bullmq));
    const coldRows = await lagOn(bench, filled, stream);
    rates.push({ perSecond, bullmq, coldRows });
  }
  const promisedRate = sizes.lag.rates.includes(PROMISED_RATE) ? PROMISED_RATE : (sizes.lag.rates[0] ?? PROMISED_RATE);
  const stream = { perSecond: promisedRate, seconds };
  const emptyDatabase = await lagOn(bench, empty, stream);
  const sweeping = await lagWhileSweeping(bench, filled, stream);
  for (const table of [filled, empty]) await table.tidy();
  const figures = { seconds, redisHz: 10, rows: filled.rows, rates, emptyDatabase, sweeping };
  return { figures, lines: linesOf(rates, promisedRate, emptyDatabase, sweeping) };
}

async function lagOn(bench: Bench, { stores, prefix }: FilledDatabase, stream: Stream): Promise<Lag> {
  await stores.flushRedis();
  const result = await carillonLag({ ...bench.harness, stores }, stream, prefix, () =>
    untilSwept(stores, prefix.CARILLON_REDIS_PREFIX ?? ''),
  );
  bench.say(describeLag(result));
  return result;
}

/**
 * The hourly sweeps, pressed into the time of the run: each shard moves its horizon once, and all that is to be promoted is due at one moment
 * which every shard's horizon passes in that time.
 */
async function lagWhileSweeping(bench: Bench, filled: FilledDatabase, stream: Stream): Promise<Sweeping> {
  const { stores, prefix } = filled;
  const name = prefix.CARILLON_REDIS_PREFIX ?? '';
  const everyMs = stream.seconds * 1_000;
  await stores.flushRedis();
  const settings = { ...prefix, CARILLON_PROMOTE_EVERY_MS: String(everyMs) };
  let before = 0;
  const result = await carillonLag({ ...bench.harness, stores }, stream, settings, async () => {
    await untilSwept(stores, name);
    before = await queuedEntries(stores, name);
    const allowance = Math.min(INSERT_ALLOWANCE_MS, Math.max(2_000, bench.sizes.lag.promoted / 5));
    const passedFromMs = Date.now() + allowance;
    const dueAtMs = passedFromMs + 24 * HOUR_MS + everyMs + HORIZON_MARGIN_MS;
    await filled.inChunks(bench.sizes.lag.promoted, (chunk) => cloneMessages(chunk, dueAtMs, 1));
    if (Date.now() > passedFromMs) bench.say('the rows to promote took long to insert: some may be promoted later');
    await sleepUntil(passedFromMs);
  });
  bench.say(describeLag(result));
  return { promoted: (await queuedEntries(stores, name)) - before, lag: result };
}

function linesOf(rates: readonly AtRate[], promisedRate: number, emptyDatabase: Lag, sweeping: Sweeping): Line[] {
  const promised = rates.find(({ perSecond }) => perSecond === promisedRate);
  return [
    ...rates.flatMap(({ perSecond, coldRows, bullmq }) =>
      (['p50Ms', 'p99Ms', 'maxMs'] as const).map((name): Line => ({
        what: `${name.slice(0, 3)} at ${perSecond} a second, cold rows`,
        value: coldRows[name],
        unit: 'ms',
        beside: 'BullMQ',
        ratio: rounded(coldRows[name] / bullmq[name], 3),
        ...(name === 'p99Ms' && perSecond === promisedRate ? { must: { atMost: P99_MOST_MS } } : {}),
      })),
    ),
    ...(promised === undefined
      ? []
      : [
          compared(`p99 at ${promisedRate} a second, no rows`, emptyDatabase.p99Ms, promised.coldRows.p99Ms),
          {
            ...compared(`p99, ${sweeping.promoted} promoted meanwhile`, sweeping.lag.p99Ms, promised.coldRows.p99Ms),
            must: { atMost: rounded(SWEEPING_MOST * promised.coldRows.p99Ms, 2) },
          },
          compared('max, the same', sweeping.lag.maxMs, promised.coldRows.maxMs),
        ]),
  ];
}

function compared(what: string, value: number, to: number): Line {
  return { what, value, unit: 'ms', beside: 'with cold rows', ratio: rounded(value / to, 3) };
}
