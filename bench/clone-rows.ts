/**
 * Copies one row that came in by the API into many: every column as it was, but for the id, the times, the shard and the number in the body.
 * So what is loaded has the shape that the intake writes, whatever columns a later migration adds.
 */
import type pg from 'pg';
import { messageIdTimeMs } from '../src/domain/ids.js';
import { shardOfMessage, shardOfSchedule } from '../src/domain/shard.js';

/** Rows from `first` to before `end`, of `rows` in all. */
export interface Chunk {
  readonly table: pg.Client;
  readonly first: number;
  readonly end: number;
  readonly rows: number;
  /** Of the cluster. */
  readonly shards: number;
}

/** Where the rows to copy lie: tables of one row each. */
export const TEMPLATES = {
  message: 'bench.message',
  schedule: 'bench.schedule',
  change: 'bench.change',
  ran: 'bench.ran',
};

/** A schedule's id by number, whose order as text is that of the numbers. */
export function scheduleId(family: string, number: number): string {
  return `${family}-${String(number).padStart(9, '0')}`;
}
const SCHEDULE_ID = (family: string, number: string): string => `'${family}-' || lpad((${number})::text, 9, '0')`;
/** The schedules of a filled table; all other families are taken away after a measurement. */
export const FILLED_FAMILY = 'job';

/** As ids.ts does: 48 bits of time, then version and chance, which a random UUID brings along. */
const MESSAGE_ID = (timeMs: string, random: string): string =>
  `(lpad(to_hex(${timeMs}), 12, '0') || '7' || substr(${random}, 14))::uuid`;
/** As shard.ts does. */
const SHARD_OF_MESSAGE = (random: string, shards: number): string =>
  `(('x' || substr(${random}, 25))::bit(32)::bigint % ${shards})::smallint`;
/** As `bodyOf` in signed-post.ts: 200 bytes. */
const BODY = (number: string): string =>
  `convert_to('{"n":' || ${number} || ',"pad":"' || repeat('x', 185 - length((${number})::text)) || '"}', 'UTF8')`;
const TIME = (timeMs: string): string => `to_timestamp((${timeMs})::numeric / 1000)`;
/** A random UUID without dashes. */
const CHANCE = `replace(gen_random_uuid()::text, '-', '')`;

/**
 * Messages spread over `spanMs` from a time on. A chunk takes its part of the time, and its rows come in any order there, as messages that
 * were sent in the course of months lie.
 */
export async function cloneMessages(chunk: Chunk, fromMs: number, spanMs: number): Promise<void> {
  const { table, first, end, rows, shards } = chunk;
  const partMs = Math.max(1, Math.floor((spanMs * (end - first)) / rows));
  const startMs = Math.floor(fromMs + (spanMs * first) / rows);
  await insertClones(table, 'messages', TEMPLATES.message, {
    values: {
      id: MESSAGE_ID('s.due_ms', 's.chance'),
      shard: SHARD_OF_MESSAGE('s.chance', shards),
      due_at: TIME('s.due_ms'),
      next_attempt_at: TIME('s.due_ms'),
      created_at: 'now()',
      body: BODY('s.n'),
    },
    source: `(select n, ${startMs} + floor(random() * ${partMs})::bigint as due_ms, ${CHANCE} as chance
      from generate_series(${first}, ${end - 1}) n offset 0) s`,
  });
}

/** Schedules that fire once a year each, at minutes spread over `spanMs` from a time on, and the change that made them. */
export async function cloneSchedules(
  chunk: Chunk,
  fromMs: number,
  spanMs: number,
  family = FILLED_FAMILY,
): Promise<void> {
  const { table, first, end } = chunk;
  const minutes = Math.floor(spanMs / 60_000);
  const fromMinute = Math.ceil(fromMs / 60_000);
  await insertClones(table, 'schedules', TEMPLATES.schedule, {
    values: {
      id: SCHEDULE_ID(family, 's.n'),
      shard: 's.shard',
      cron: `to_char(s.fires_at at time zone 'UTC', 'FMMI FMHH24 FMDD FMMM "*"')`,
      next_fire_at: 's.fires_at',
      body: BODY('s.n'),
    },
    source: `(select ${first} + number - 1 as n, shard,
        ${TIME(`(${fromMinute} + floor(random() * ${minutes})::bigint) * 60000`)} as fires_at
      from unnest($1::smallint[]) with ordinality as given (shard, number) offset 0) s`,
    parameters: [shardsOf(chunk, family)],
  });
  await insertClones(table, 'schedule_changes', TEMPLATES.change, {
    values: { schedule_id: SCHEDULE_ID(family, 's.n') },
    source: `generate_series(${first}, ${end - 1}) as s (n)`,
  });
}

/** Schedules that all fire at one time (a whole second), each at its place in a window that follows. */
export async function cloneHerd(
  chunk: Chunk,
  fires: { readonly atMs: number; readonly windowMs: number; readonly destination: string },
): Promise<void> {
  await insertClones(chunk.table, 'schedules', TEMPLATES.schedule, {
    values: {
      id: SCHEDULE_ID('herd', 's.n'),
      shard: 's.shard',
      cron: `to_char(${TIME(String(fires.atMs))} at time zone 'UTC', 'FMSS FMMI FMHH24 FMDD FMMM "*"')`,
      window_ms: String(fires.windowMs),
      next_fire_at: TIME(String(fires.atMs)),
      destination: '$2',
      body: BODY('s.n'),
    },
    source: `(select ${chunk.first} + number - 1 as n, shard
      from unnest($1::smallint[]) with ordinality as given (shard, number) offset 0) s`,
    parameters: [shardsOf(chunk, 'herd'), fires.destination],
  });
}

/** The times of an occurrence that was due at `s.due_ms` and ran then. */
const RAN_AT_ITS_TIME = {
  occurrence_at: TIME('s.due_ms'),
  due_at: TIME('s.due_ms'),
  next_attempt_at: TIME('s.due_ms'),
  created_at: TIME('s.due_ms + 3'),
  started_at: TIME('s.due_ms + 6'),
  finished_at: TIME('s.due_ms + 16'),
};

/** For the first schedules, an occurrence that ran at a time of each of the last days. */
export async function cloneHistory(chunk: Chunk, nowMs: number, days: number): Promise<void> {
  const dayMs = 86_400_000;
  const today = Math.floor(nowMs / dayMs) * dayMs;
  await insertClones(chunk.table, 'messages', TEMPLATES.ran, {
    values: {
      id: MESSAGE_ID('s.due_ms', 's.chance'),
      shard: 's.shard',
      schedule_id: 's.schedule_id',
      ...RAN_AT_ITS_TIME,
    },
    source: `(select job.id as schedule_id, job.shard, ${today} - day * ${dayMs}::bigint
          + (substr(job.id, 5)::bigint % 1440) * 60000 as due_ms, ${CHANCE} as chance
      from schedules job cross join generate_series(1, ${days}) day
      where job.tenant_id = (select tenant_id from ${TEMPLATES.schedule})
        and job.id between '${scheduleId(FILLED_FAMILY, chunk.first)}' and '${scheduleId(FILLED_FAMILY, chunk.end - 1)}' offset 0) s`,
  });
}

/** Dead letters that were given up in the time before, at `destinations` addresses, each of which answers in one of two ways. */
export async function cloneDeadLetters(
  chunk: Chunk,
  died: { readonly nowMs: number; readonly spanMs: number; readonly destinations: number },
): Promise<void> {
  const { table, first, end, shards } = chunk;
  await insertClones(table, 'messages', TEMPLATES.message, {
    values: {
      id: MESSAGE_ID('s.due_ms', 's.chance'),
      shard: SHARD_OF_MESSAGE('s.chance', shards),
      state: `'failed'`,
      in_dlq: 'true',
      due_at: TIME('s.due_ms'),
      next_attempt_at: TIME('s.due_ms'),
      created_at: TIME('s.due_ms - 10'),
      started_at: TIME('s.due_ms + 3'),
      finished_at: TIME('s.due_ms + 20'),
      attempts: '1',
      last_status: 'case when s.n % 2 = 0 then 500 else 503 end',
      last_error: `'the receiver answered with an error'`,
      destination: `template.destination || '/broken/' || s.n % ${died.destinations}`,
      body: BODY('s.n'),
    },
    source: `(select n, ${died.nowMs - died.spanMs} + floor(random() * ${died.spanMs})::bigint as due_ms, ${CHANCE} as chance
      from generate_series(${first}, ${end - 1}) n offset 0) s`,
  });
}

/** Occurrences of one schedule that ran in the time before, evenly. */
export async function cloneRuns(
  chunk: Chunk,
  ran: { readonly scheduleId: string; readonly nowMs: number; readonly spanMs: number },
): Promise<void> {
  const { table, first, end, rows, shards } = chunk;
  await insertClones(table, 'messages', TEMPLATES.ran, {
    values: {
      id: MESSAGE_ID('s.due_ms', 's.chance'),
      shard: String(shardOfSchedule(TENANT, ran.scheduleId, shards)),
      schedule_id: '$1',
      ...RAN_AT_ITS_TIME,
    },
    source: `(select ${ran.nowMs - ran.spanMs} + n * ${Math.floor(ran.spanMs / rows)}::bigint as due_ms, ${CHANCE} as chance
      from generate_series(${first}, ${end - 1}) n offset 0) s`,
    parameters: [ran.scheduleId],
  });
}

interface Clones {
  /** SQL of the columns that are not the template's, from the source `s`. */
  readonly values: Readonly<Record<string, string>>;
  readonly source: string;
  readonly parameters?: readonly unknown[];
}

async function insertClones(table: pg.Client, into: string, template: string, clones: Clones): Promise<void> {
  const { rows } = await table.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [template],
  );
  const columns = rows.map(({ name }) => name);
  const values = columns.map((name) => clones.values[name] ?? `template.${name}`);
  const text = `insert into ${into} (${columns.join(', ')}) select ${values.join(', ')} from ${clones.source}, ${template} template`;
  await table.query(text, [...(clones.parameters ?? [])]);
}

/** There is one tenant. */
const TENANT = 1;

function shardsOf({ first, end, shards }: Chunk, family: string): number[] {
  return Array.from({ length: end - first }, (_, index) =>
    shardOfSchedule(TENANT, scheduleId(family, first + index), shards),
  );
}

/** What a copy may have otherwise than the row it was made from. */
const OWN_COLUMNS = ['id', 'shard', 'due_at', 'next_attempt_at', 'created_at', 'body', 'cron', 'next_fire_at'];

/** Throws unless the rows that were loaded are like the one that came in by the API, and their ids say when they are due. */
export async function checkClones(table: pg.Client): Promise<void> {
  for (const [into, template] of [
    ['messages', TEMPLATES.message],
    ['schedules', TEMPLATES.schedule],
  ] as const) {
    const { rows } = await table.query<{ key: string }>(
      `select distinct key from ${template} template, (select * from ${into} limit 100) row,
         jsonb_each(to_jsonb(template)) a join jsonb_each(to_jsonb(row)) b using (key)
       where a.value is distinct from b.value and key <> all($1)`,
      [OWN_COLUMNS],
    );
    if (rows.length > 0) throw new Error(`loaded ${into} differ in ${rows.map(({ key }) => key).join(', ')}`);
  }
  const { rows } = await table.query<{ id: string; shard: number; due_ms: number; bytes: number; shards: number }>(
    `select replace(id::text, '-', '') as id, shard, (extract(epoch from due_at) * 1000)::float8 as due_ms, length(body) as bytes, shards
     from (select * from messages limit 100) row, cluster`,
  );
  const wrong = rows.find(
    ({ id, shard, due_ms, bytes, shards }) =>
      messageIdTimeMs(id) !== due_ms || shardOfMessage(id, shards) !== shard || bytes !== 200,
  );
  if (wrong !== undefined)
    throw new Error(`a loaded message is not as the intake would write it: ${JSON.stringify(wrong)}`);
}
