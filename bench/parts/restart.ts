/**
 * Restart: from the start of the process to the arrival of the first delivery, which was due while nobody ran, and the node's memory a moment
 * later, with few and with very many schedules in the table. Beside it the preloading way: each schedule a timer in memory.
 */
import { startCarillon } from '../carillon-node.js';
import { Child } from '../child.js';
import { expectMessages, sleep, sleepUntil } from '../harness.js';
import { median, rounded } from '../figures.js';
import type { FilledDatabase } from '../filled.js';
import { residentBytes } from '../machine.js';
import type { PreloadingLibrary } from '../preloader.js';
import { untilSwept } from '../queue-use.js';
import type { Bench, Line, PartResult } from './part.js';

const MIB = 2 ** 20;
const TIMEOUT_MS = 300_000;
/** A start with many schedules may take so much longer than one with none, whichever is more. */
const LONGER_SHARE = 0.1;
const LONGER_MS = 100;
const LONGEST_MS = 1_000;

interface Start {
  readonly firstDeliveryMs: number;
  readonly residentMib: number;
}

interface Starts extends Start {
  readonly rows: number;
  readonly runs: readonly Start[];
}

interface Preloaded extends Start {
  readonly library: PreloadingLibrary;
  readonly schedules: number;
}

export async function restart(bench: Bench): Promise<PartResult> {
  const { sizes, harness: course } = bench;
  const tables: FilledDatabase[] = [];
  for (const rows of sizes.rows) tables.push(await bench.filled(rows));
  await course.stores.flushRedis();
  for (const table of tables) await firstStart(table);
  const starts = await restartEach(bench, tables, { emptied: false });
  // Only now: emptying Redis empties it for all tables.
  const afterFlush = await restartEach(bench, tables, { emptied: true });
  for (const table of tables) await table.tidy();
  const preloaded = await preload(bench);
  return { figures: { starts, emptiedRedis: afterFlush, preloaded }, lines: linesOf(starts, afterFlush, preloaded) };
}

async function restartEach(
  bench: Bench,
  tables: readonly FilledDatabase[],
  how: { emptied: boolean },
): Promise<Starts[]> {
  const runs = new Map(tables.map(({ rows }): [number, Start[]] => [rows, []]));
  for (let round = 0; round < bench.sizes.restart.rounds; round++) {
    for (const table of round % 2 === 0 ? tables : [...tables].reverse()) {
      const start = await restartOnce(bench, table, how);
      bench.say(`restart with ${table.rows}${how.emptied ? ', Redis emptied' : ''}: ${JSON.stringify(start)}`);
      runs.get(table.rows)?.push(start);
    }
  }
  return [...runs].map(([rows, of]): Starts => ({ rows, ...medianOf(of), runs: of }));
}

/** Lets Redis be as after some time of work. */
async function firstStart({ stores, prefix }: FilledDatabase): Promise<void> {
  const node = await startCarillon(stores, 50, [], 'node-1', prefix);
  await untilSwept(stores, prefix.CARILLON_REDIS_PREFIX ?? '');
  await node.stop();
}

/** Stops a node in order and starts the next one when work is overdue; `emptied`: and Redis has lost everything meanwhile. */
async function restartOnce(
  { harness: course, sizes }: Bench,
  { stores, prefix }: FilledDatabase,
  how: { emptied: boolean },
): Promise<Start> {
  const before = await startCarillon(stores, 50, [], 'node-1', prefix);
  const dueAtMs = Date.now() + sizes.restart.dueInMs;
  await before.publish(course.url, [{ index: 0, dueAtMs }]);
  await before.stop();
  if (how.emptied) await stores.flushRedis();
  await sleepUntil(dueAtMs);
  const arrived = await expectMessages(course, 1);
  const node = await startCarillon(stores, 50, [], 'node-1', prefix);
  try {
    const { firstAtMs } = await arrived();
    await sleep(sizes.restart.settleMs);
    return {
      firstDeliveryMs: Math.round(firstAtMs - node.startedAtMs),
      residentMib: rounded(residentBytes(node.pid) / MIB, 1),
    };
  } finally {
    await node.stop();
  }
}

async function preload({ harness: course, sizes, ...bench }: Bench): Promise<Preloaded[]> {
  const results: Preloaded[] = [];
  for (const schedules of sizes.restart.preloaded) {
    for (const library of ['croner', 'cron-parser'] as const) {
      const arrived = await expectMessages(course, 1);
      const child = new Child('preloader.js', { library, schedules, url: course.url });
      try {
        await child.next('delivered', TIMEOUT_MS);
        const { firstAtMs } = await arrived();
        const one = {
          library,
          schedules,
          firstDeliveryMs: Math.round(firstAtMs - child.startedAtMs),
          residentMib: rounded(residentBytes(child.pid) / MIB, 1),
        };
        bench.say(`preloaded: ${JSON.stringify(one)}`);
        results.push(one);
      } catch (error) {
        // croner keeps some 90 KB for each: a hundred thousand are more than Node.js takes by default.
        bench.say(`${library} with ${schedules} timers: ${String(error)}`);
      } finally {
        await child.stop();
      }
    }
  }
  return results;
}

function medianOf(starts: readonly Start[]): Start {
  return {
    firstDeliveryMs: Math.round(median(starts.map(({ firstDeliveryMs }) => firstDeliveryMs))),
    residentMib: rounded(median(starts.map(({ residentMib }) => residentMib)), 1),
  };
}

function linesOf(starts: readonly Starts[], emptied: readonly Starts[], preloaded: readonly Preloaded[]): Line[] {
  const none = starts[0];
  if (none === undefined) return [];
  const beside = { beside: `with ${none.rows}` };
  const name = (rows: number): string => `${rows.toLocaleString('en')} schedules`;
  const longest = none.firstDeliveryMs + Math.max(LONGER_SHARE * none.firstDeliveryMs, LONGER_MS);
  const ratio = (start: Start): number => rounded(start.firstDeliveryMs / none.firstDeliveryMs, 3);
  return [
    ...starts.flatMap((start): Line[] => [
      {
        what: `start to first delivery, ${name(start.rows)}`,
        value: start.firstDeliveryMs,
        unit: 'ms',
        ...(start === none ? {} : { ...beside, ratio: ratio(start) }),
        must: { atMost: Math.min(LONGEST_MS, start === none ? LONGEST_MS : Math.round(longest)) },
      },
      {
        what: `memory of the node, ${name(start.rows)}`,
        value: start.residentMib,
        unit: 'MiB',
        ...(start === none ? {} : { ...beside, ratio: rounded(start.residentMib / none.residentMib, 3) }),
      },
    ]),
    ...emptied.map((start) => ({
      what: `the same, Redis emptied, ${name(start.rows)}`,
      value: start.firstDeliveryMs,
      unit: 'ms',
      ...beside,
      ratio: ratio(start),
    })),
    ...preloaded.flatMap((start): Line[] => [
      {
        what: `${start.library}, ${name(start.schedules)}`,
        value: start.firstDeliveryMs,
        unit: 'ms',
        ...beside,
        ratio: ratio(start),
      },
      {
        what: `its memory, ${name(start.schedules)}`,
        value: start.residentMib,
        unit: 'MiB',
        ...beside,
        ratio: rounded(start.residentMib / none.residentMib, 3),
      },
    ]),
  ];
}
