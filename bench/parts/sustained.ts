/**
 * Sustained: a quarter of an hour at a steady rate on a table full of cold rows: lag and memory minute by minute, how the table grows, and
 * whether everything that was accepted arrived, by the receiver's own list and by the table.
 */
import { messageIdFloor } from '../../src/domain/ids.js';
import { startCarillon, type CarillonNode } from '../carillon-node.js';
import type { Note } from '../child.js';
import { expectMessages, sleepUntil, warmUp, type Harness } from '../harness.js';
import { percentile, rounded } from '../figures.js';
import { dueTogether } from '../trials.js';
import { CONCURRENCY } from '../lag-stream.js';
import { residentBytes } from '../machine.js';
import { untilSwept } from '../queue-use.js';
import { mostRows, type Bench, type Line, type PartResult } from './part.js';

const SLICE_MS = 500;
const LEAD_MS = 3_000;
const SETTLE_MOST_MS = 5_000;
const MIB = 2 ** 20;

interface Minute {
  readonly deliveries: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly nodeMib: number;
  readonly redisMib: number;
  readonly postgresMib: number;
}

interface Account {
  readonly accepted: number;
  /** By the table. */
  readonly delivered: number;
  /** Different messages that the receiver saw. */
  readonly arrived: number;
  /** Accepted but not delivered by the table, or delivered by the table and never seen by the receiver. */
  readonly lost: number;
  /** Calls beyond one for each message. */
  readonly twice: number;
}

export async function sustained(bench: Bench): Promise<PartResult> {
  const filled = await bench.filled(mostRows(bench));
  const { stores, prefix } = filled;
  const harness = { ...bench.harness, stores };
  const { perSecond, minutes, minuteMs } = bench.sizes.sustained;
  await filled.tidy();
  const node = await startCarillon(stores, CONCURRENCY, [], 'node-1', prefix);
  try {
    await untilSwept(stores, prefix.CARILLON_REDIS_PREFIX ?? '');
    await warmUp(harness, (count) => node.publish(harness.url, dueTogether(count, Date.now() + 1_000)));
    await expectMessages(harness, Infinity);
    const firstDueAtMs = Date.now() + LEAD_MS + SLICE_MS;
    const before = await memoryOf(harness, node);
    const publishing = publishAll(harness, node, { perSecond, firstDueAtMs, durationMs: minutes * minuteMs });
    const byMinute: Minute[] = [];
    for (let minute = 1; minute <= minutes; minute++) {
      await Promise.race([sleepUntil(firstDueAtMs + minute * minuteMs), failureOf(publishing)]);
      const one = { ...(await lagsOf(harness)), ...(await memoryOf(harness, node)) };
      bench.say(`minute ${minute}: ${JSON.stringify(one)}`);
      byMinute.push(one);
    }
    const accepted = await publishing;
    await sleepUntil(firstDueAtMs + minutes * minuteMs + Math.min(SETTLE_MOST_MS, minuteMs));
    const account = await accountFor(harness, accepted, firstDueAtMs, minutes * minuteMs);
    bench.say(`sustained: ${JSON.stringify(account)}`);
    const figures = { perSecond, minutes, minuteMs, rows: filled.rows, ...account, before, byMinute };
    return { figures, lines: linesOf(account, before, byMinute) };
  } finally {
    await node.stop();
    await filled.tidy();
  }
}

async function publishAll(
  { url }: Harness,
  node: CarillonNode,
  how: { readonly perSecond: number; readonly firstDueAtMs: number; readonly durationMs: number },
): Promise<number> {
  const perSlice = Math.round((how.perSecond * SLICE_MS) / 1_000);
  let published = 0;
  for (let sliceMs = 0; sliceMs < how.durationMs; sliceMs += SLICE_MS) {
    const fromMs = how.firstDueAtMs + sliceMs;
    await sleepUntil(fromMs - LEAD_MS);
    const due = Array.from({ length: perSlice }, (_, index) => ({
      index: published + index,
      dueAtMs: fromMs + Math.floor(Math.random() * SLICE_MS),
    }));
    await node.publish(url, due, { tellDue: true });
    published += perSlice;
  }
  return published;
}

/** Never resolves; rejects when the work does. */
async function failureOf(work: Promise<unknown>): Promise<never> {
  await work;
  return new Promise<never>(() => undefined);
}

async function lagsOf({ receiver }: Harness): Promise<Pick<Minute, 'deliveries' | 'p50Ms' | 'p99Ms' | 'maxMs'>> {
  const { lagsMs } = await receiver.ask<Note & { lagsMs: number[] }>({ kind: 'take' }, 'taken');
  const at = (share: number): number => rounded(percentile(lagsMs, share), 2);
  return { deliveries: lagsMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

async function memoryOf(
  { stores }: Harness,
  node: CarillonNode,
): Promise<Pick<Minute, 'nodeMib' | 'redisMib' | 'postgresMib'>> {
  const info = await stores.queue.info('memory');
  const { rows } = await stores.table.query<{ bytes: number }>(
    `select sum(pg_total_relation_size(relid))::float8 as bytes from pg_partition_tree('messages') where isleaf`,
  );
  const mib = (bytes: number): number => rounded(bytes / MIB, 1);
  return {
    nodeMib: mib(residentBytes(node.pid)),
    redisMib: mib(Number(/^used_memory:(\d+)/m.exec(info)?.[1])),
    postgresMib: mib(rows[0]?.bytes ?? 0),
  };
}

/** Compares the receiver's list with the table. */
async function accountFor(
  { stores, receiver }: Harness,
  accepted: number,
  fromMs: number,
  durationMs: number,
): Promise<Account> {
  const { ids, calls } = await receiver.ask<Note & { ids: string[]; calls: number }>({ kind: 'list' }, 'listed');
  const seen = new Set(ids);
  const { rows } = await stores.table.query<{ id: string; state: string }>(
    `select replace(id::text, '-', '') as id, state from messages where id >= $1 and id < $2 and schedule_id is null`,
    [messageIdFloor(fromMs), messageIdFloor(fromMs + durationMs)],
  );
  const delivered = rows.filter(({ state }) => state === 'delivered');
  const unseen = delivered.filter(({ id }) => !seen.has(`msg_${id}`)).length;
  return {
    accepted,
    delivered: delivered.length,
    arrived: seen.size,
    lost: accepted - delivered.length + unseen,
    twice: calls - seen.size,
  };
}

function linesOf(
  account: Account,
  before: Omit<Minute, 'deliveries' | 'p50Ms' | 'p99Ms' | 'maxMs'>,
  all: readonly Minute[],
): Line[] {
  const [first] = all;
  const last = all.at(-1);
  if (first === undefined || last === undefined) return [];
  const worst = Math.max(...all.map(({ p99Ms }) => p99Ms));
  const beside = { beside: 'the first minute' };
  const grown = ((last.postgresMib - before.postgresMib) * MIB) / account.accepted;
  return [
    { what: 'messages accepted', value: account.accepted, unit: '' },
    { what: 'lost', value: account.lost, unit: '', must: { atMost: 0 } },
    { what: 'delivered twice', value: account.twice, unit: '', must: { atMost: 0 } },
    {
      what: 'p50 in the last minute',
      value: last.p50Ms,
      unit: 'ms',
      ...beside,
      ratio: rounded(last.p50Ms / first.p50Ms, 3),
    },
    {
      what: 'p99 in the last minute',
      value: last.p99Ms,
      unit: 'ms',
      ...beside,
      ratio: rounded(last.p99Ms / first.p99Ms, 3),
    },
    { what: 'p99 in the worst minute', value: worst, unit: 'ms', ...beside, ratio: rounded(worst / first.p99Ms, 3) },
    {
      what: 'memory of the node at the end',
      value: last.nodeMib,
      unit: 'MiB',
      ...beside,
      ratio: rounded(last.nodeMib / first.nodeMib, 3),
    },
    {
      what: 'Redis at the end',
      value: last.redisMib,
      unit: 'MiB',
      ...beside,
      ratio: rounded(last.redisMib / first.redisMib, 3),
    },
    { what: 'table growth for each message', value: Math.round(grown), unit: 'bytes' },
  ];
}
