// A schedule that was deleted and made again is another one (issue 12, entry 3): what was meant for the former leaves the new one alone, and
// what was acknowledged while Redis was out of reach holds.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shardOfSchedule } from '../../../src/domain/shard.js';
import { scheduleEntry, shardKeys } from '../../../src/redis/keys.js';
import { TEST_SHARDS } from '../../kit/node.js';
import { startTwoNodes, type TwoNodes } from '../../kit/two-nodes.js';
import { cronAt, schedule, scheduleOf, startMetronome, until } from '../../kit/work.js';

let nodes: TwoNodes;
let { owner, remote, path, client } = {} as TwoNodes;
beforeAll(async () => {
  nodes = await startTwoNodes();
  ({ owner, remote, path, client } = nodes);
});
afterEach(() => path.set({ kind: 'open' }));
afterAll(() => nodes.stop());

async function tenantId(): Promise<number> {
  const [row] = await owner.database.text<{ id: number }>(`select id from tenants where name = 'default'`);
  return row!.id;
}

/** When Redis has the schedule due; null when it has not. */
async function placeOf(id: string): Promise<number | null> {
  const tenant = await tenantId();
  const keys = shardKeys(owner.config.CARILLON_REDIS_PREFIX, shardOfSchedule(tenant, id, TEST_SHARDS));
  const score = await client.zscore(keys.due, scheduleEntry(tenant, id));
  return score === null ? null : Number(score);
}

/** Until the remote node has told Redis all that waited. */
async function untilToldLate(id: string): Promise<void> {
  // A schedule that is saved later waits behind what waits already.
  path.set({ kind: 'open' });
  await schedule(remote, `${id}-last`, '0 0 1 1 *');
  await schedule(remote, `${id}-last`, cronAt(Date.now() + 600_000));
  await until(async () => expect(await placeOf(`${id}-last`)).not.toBeNull());
}

describe('a schedule that was deleted and made again', () => {
  it.each(['pause', 'edit', 'delete'])(
    'keeps its place when a %s of the former one comes to Redis late',
    async (late) => {
      const id = `late-${late}`;
      const soonMs = Date.now() + 600_000;
      await schedule(owner, id, cronAt(soonMs));
      // The former one is changed a few times, so that its generation is beyond a first one.
      await schedule(owner, id, cronAt(soonMs + 60_000));
      path.set({ kind: 'cut' });
      if (late === 'pause') expect((await remote.call('POST', `/v2/schedules/${id}/pause`)).status).toBe(200);
      if (late === 'edit') await schedule(remote, id, '0 0 1 1 *');
      const deleter = late === 'delete' ? remote : owner;
      expect((await deleter.call('DELETE', `/v2/schedules/${id}`)).status).toBe(200);
      await schedule(owner, id, cronAt(soonMs));
      const { generation, next_fire_at: nextMs } = (await scheduleOf(owner, id))!;
      await until(async () => expect(await placeOf(id)).toBe(nextMs));
      await untilToldLate(id);
      expect(await placeOf(id)).toBe(nextMs);
      expect(generation).toBeGreaterThan(2);
    },
  );

  it('also by a batch, follows on the generation of the former one', async () => {
    const headers = { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': 'by-batch' };
    const body = JSON.stringify([{ destination: `${owner.sink.url}/x`, headers }]);
    const save = async (): Promise<number> => {
      const answer = await owner.call('POST', '/v2/schedules/batch', { body });
      expect(answer.status, await answer.text()).toBe(200);
      return (await scheduleOf(owner, 'by-batch'))!.generation;
    };
    expect(await save()).toBe(1);
    await owner.call('DELETE', '/v2/schedules/by-batch');
    expect(await save()).toBe(2);
  });
});

describe('through a node that cannot reach Redis', () => {
  it.each(['pause', 'edit', 'delete'])('an acknowledged %s is followed by no occurrence', async (change) => {
    const id = `fires-${change}`;
    const firesAtMs = Math.ceil(Date.now() / 1_000) * 1_000 + 1_000;
    await schedule(owner, id, cronAt(firesAtMs));
    path.set({ kind: 'cut' });
    if (change === 'pause') expect((await remote.call('POST', `/v2/schedules/${id}/pause`)).status).toBe(200);
    if (change === 'edit') await schedule(remote, id, '0 0 1 1 *');
    if (change === 'delete') expect((await remote.call('DELETE', `/v2/schedules/${id}`)).status).toBe(200);
    expect(Date.now()).toBeLessThan(firesAtMs);
    const metronome = await startMetronome(owner);
    await metronome.ticks(3);
    await metronome.stop();
    expect(Date.now()).toBeGreaterThan(firesAtMs);
    expect(owner.sink.calls.filter(({ scheduleId }) => scheduleId === id)).toEqual([]);
  });
});
