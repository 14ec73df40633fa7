/** Where the CPU goes: node's own profile, PostgreSQL's statements and Redis's commands, for a run with --profile. */
import path from 'node:path';
import { Redis } from 'ioredis';
import { printTable } from './figures.js';
import type { BenchStores } from './stores.js';

/** Server settings that make PostgreSQL count its statements. */
export const COUNTING_STATEMENTS = { shared_preload_libraries: 'pg_stat_statements', track_io_timing: 'on' };

const SHOWN = 12;

/** Arguments that make a node write a CPU profile when it ends, to open in a browser's developer tools. */
export function profilingArguments(): string[] {
  return ['--cpu-prof', `--cpu-prof-dir=${path.resolve('.carillon', 'profiles')}`];
}

/** Begins to count anew. */
export async function resetCounters({ table, redis }: BenchStores): Promise<void> {
  await table.query('create extension if not exists pg_stat_statements');
  await table.query('select pg_stat_statements_reset()');
  await onRedis(redis.url, (client) => client.config('RESETSTAT'));
}

/** Prints what the stores did since. */
export async function printCounters({ table, redis }: BenchStores): Promise<void> {
  const { rows } = await table.query<{ query: string; calls: string; ms: string; rows: string; wal: string }>(
    `select regexp_replace(left(query, 60), '\\s+', ' ', 'g') as query, calls, round(total_exec_time + total_plan_time) as ms, rows,
       pg_size_pretty(wal_bytes) as wal
     from pg_stat_statements order by total_exec_time + total_plan_time desc limit ${SHOWN}`,
  );
  printTable(
    ['statement', 'calls', 'rows', 'ms', 'WAL'],
    rows.map((row) => [row.query, row.calls, row.rows, row.ms, row.wal]),
  );
  const stats = await onRedis(redis.url, (client) => client.info('commandstats'));
  const commands = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm)]
    .map(([, name = '', calls = '', micros = '']) => ({ name, calls: Number(calls), ms: Number(micros) / 1_000 }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SHOWN);
  console.log();
  printTable(
    ['command', 'calls', 'ms'],
    commands.map(({ name, calls, ms }) => [name, calls, ms.toFixed(0)]),
  );
  console.log();
}

async function onRedis<Result>(url: string, work: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(url);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}
