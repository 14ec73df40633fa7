// Issue 12, entry 2: readers, however many, keep a node neither from accepting nor from claiming and recording.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
beforeAll(async () => {
  // No read is given up by itself while the test lasts.
  node = await startTestNode({ CARILLON_READ_BUDGET_MS: 60_000, CARILLON_DATABASE_TIMEOUT_MS: 60_000 });
});
afterAll(() => node.stop());

const AT_IT = `select count(*)::integer as count from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%from schedule_changes%'`;

it('publishes are accepted and delivered while more readers than connections wait for PostgreSQL', async () => {
  const leaving = new AbortController();
  await node.database.transaction(async (connection) => {
    await connection.text('lock table schedule_changes in access exclusive mode');
    const readers = Array.from({ length: 20 }, () =>
      fetch(`${node.url}/v2/schedules/none/explain?at=0`, {
        headers: { authorization: `Bearer ${node.token}` },
        signal: leaving.signal,
      }).then(({ status }) => status),
    );
    const settled = Promise.allSettled(readers);
    await expect.poll(async () => (await node.database.text<{ count: number }>(AT_IT))[0]?.count).toBe(2);
    const accepted = await Promise.all(
      Array.from({ length: 30 }, () => node.call('POST', `/v2/publish/${node.sink.url}/hook`, { body: 'x' })),
    );
    expect(accepted.map(({ status }) => status)).toEqual(accepted.map(() => 200));
    await expect
      .poll(() => node.database.text(`select 1 from messages where state = 'delivered'`))
      .toHaveLength(accepted.length);
    // Those that had no turn were told so; two are still at it.
    await expect.poll(async () => (await node.database.text<{ count: number }>(AT_IT))[0]?.count).toBe(2);
    leaving.abort();
    const statuses = (await settled).map((one) => (one.status === 'fulfilled' ? one.value : 0));
    expect(statuses.filter((status) => status !== 0 && status !== 429)).toEqual([]);
  });
});
