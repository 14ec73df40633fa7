// Summaries of the BRIN indexes of messages and attempts. What has none yet is read as a whole by whoever asks the index.
//
// Summarizing takes the lock that vacuum takes. It gives up within less than the time after which PostgreSQL would cancel a vacuum in its
// way (deadlock_timeout, a second): a vacuum summarizes as well.

import { codeOf, type Database, type Queryable } from './database.js';

/** Ours alone, so that one node of a cluster does it at a time. Held for one transaction. */
const SUMMARY_LOCK = 7_117_003;
const LOCK_WAIT = '500ms';
/** For one index; what is left is done the next time. */
const MAX_STATEMENT = '20s';

/** After so many indexes that could not be summarized, the others are left to the next time. */
const MAX_BUSY = 3;

/** SQLSTATEs: lock not available, query canceled by its timeout. */
const GAVE_UP: readonly string[] = ['55P03', '57014'];

/** The BRIN indexes of the partitions, those of the latest weeks first. */
const INDEXES = `
  select i.indexrelid::regclass::text as name from pg_index i
    join pg_inherits on inhrelid = i.indrelid
    join pg_class c on c.oid = i.indexrelid
    join pg_am a on a.oid = c.relam
   where inhparent in ('messages'::regclass, 'attempts'::regclass) and a.amname = 'brin' order by i.indrelid::regclass::text desc, 1`;

/** Switches off the requests that a new partition's indexes would make to autovacuum (migrations/0005). */
export async function withoutAutosummarize(connection: Queryable, partition: string): Promise<void> {
  const indexes = await connection.text<{ name: string }>(
    `select i.indexrelid::regclass::text as name from pg_index i
       join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where i.indrelid = $1::regclass and a.amname = 'brin'`,
    [partition],
  );
  for (const { name } of indexes) await connection.text(`alter index ${name} set (autosummarize = off)`);
}

/** Summarizes what was written since the last time. Returns the number of ranges of pages; of an index that is busy, or takes long, 0. */
export async function summarizeIndexes(database: Database): Promise<number> {
  const indexes = await database.text<{ name: string }>(INDEXES);
  let ranges = 0;
  let busy = 0;
  for (const { name } of indexes) {
    const summarized = await summarize(database, name);
    if (summarized === null) busy += 1;
    else ranges += summarized;
    if (busy === MAX_BUSY) return ranges;
  }
  return ranges;
}

/** Null when it gave up. */
async function summarize(database: Database, index: string): Promise<number | null> {
  try {
    return await database.longTransaction(async (connection) => {
      await connection.text(`set local lock_timeout = '${LOCK_WAIT}'`);
      await connection.text(`set local statement_timeout = '${MAX_STATEMENT}'`);
      const rows = await connection.text<{ ranges: number | null }>(
        `select case when pg_try_advisory_xact_lock($1) then brin_summarize_new_values($2::regclass) end as ranges`,
        [SUMMARY_LOCK, index],
      );
      return rows[0]?.ranges ?? 0;
    });
  } catch (error) {
    if (GAVE_UP.includes(codeOf(error))) return null;
    throw error;
  }
}
