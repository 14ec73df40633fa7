// BRIN indexes are summarized by maintenance, and never ask autovacuum for it: each request that it has no room for is a line in PostgreSQL's log
// (issue 12).

import { afterAll, beforeAll, expect, it } from 'vitest';
import { summarizeIndexes } from '../../../src/postgres/brin-summaries.js';
import { messageColumns, pending } from '../../../src/postgres/messages/message-columns.js';
import { aMessage, openRecorder, type OpenRecorder } from '../../support/messages.js';

let open: OpenRecorder;
beforeAll(async () => {
  open = await openRecorder();
});
afterAll(() => open.close());

it('no index of a partition asks autovacuum for summaries', async () => {
  const indexes = await open.database.text<{ name: string; options: string[] | null }>(
    `select c.relname as name, c.reloptions as options from pg_class c join pg_am a on a.oid = c.relam
      where a.amname = 'brin' and c.relkind = 'i' order by 1`,
  );
  expect(indexes.length).toBeGreaterThan(10);
  expect(indexes.filter(({ options }) => options?.includes('autosummarize=off') !== true)).toEqual([]);
});

it('maintenance summarizes what was written, and then nothing is left', async () => {
  const rows = Array.from({ length: 4_000 }, () =>
    pending(aMessage({ tenantId: open.tenantId, dueAtMs: open.clock.value, body: Buffer.alloc(900, 'x') })),
  );
  await open.database.run('insert-messages', messageColumns(rows));
  expect(await summarizeIndexes(open.database)).toBeGreaterThan(0);
  expect(await summarizeIndexes(open.database)).toBe(0);
});

it('an index whose table is locked is left to the next time', async () => {
  await open.database.transaction(async (connection) => {
    await connection.text('lock table messages in share update exclusive mode');
    await expect(summarizeIndexes(open.database)).resolves.toBe(0);
  });
});
