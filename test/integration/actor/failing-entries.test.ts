// Issue 11, A1: work of tenants that do not exist is not accepted, and an entry that cannot be worked on does not circle for ever.

import { randomBytes } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ID_RANDOM_BYTES, messageId } from '../../../src/domain/ids.js';
import { shardOfMessage } from '../../../src/domain/shard.js';
import { createRedis, openRedis } from '../../../src/redis/connect.js';
import { shardKeys } from '../../../src/redis/keys.js';
import { aMessage, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { startTestNode, TEST_SHARDS, type TestNode } from '../../kit/node.js';
import { rowOf, schedule, scheduleOf, until, untilState } from '../../kit/work.js';
import { processTime } from '../../../src/time/process-time.js';

const NO_TENANT = 0;

describe('work of a tenant that does not exist', () => {
  let table: OpenRecorder;
  beforeAll(async () => {
    table = await openRecorder();
  });
  afterAll(() => table.close());

  it.each([
    ['without a key', []],
    ['with a key', [{ scope: 'key' as const, key: 'paid' }]],
  ])('%s is refused with the reason, and what was to be committed with it is accepted', async (_how, keys) => {
    const orphan = aMessage({ tenantId: NO_TENANT });
    const message = aMessage({ tenantId: table.tenantId });
    const [refused, accepted] = await Promise.allSettled([
      table.recorder.accept([{ message: orphan, keys }]),
      table.recorder.accept([{ message, keys }]),
    ]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'NOT_FOUND' } });
    expect((refused as PromiseRejectedResult).reason).toHaveProperty('message', expect.stringContaining('no tenant 0'));
    expect(accepted).toMatchObject({ status: 'fulfilled' });
    expect(await table.recorder.readMessage(orphan.id)).toBeNull();
    expect((await table.recorder.readMessage(message.id))?.state).toBe('pending');
    expect(await table.database.text('select from idempotency_keys where tenant_id = $1', [NO_TENANT])).toEqual([]);
  });
});

describe('an entry that cannot be worked on', () => {
  let node: TestNode;
  let redis: Redis | Cluster;
  beforeAll(async () => {
    node = await startTestNode({ CARILLON_RESCUE_EVERY_MS: 200, CARILLON_IDLE_CLAIM_MS: 200 });
    redis = createRedis({ url: node.config.CARILLON_REDIS_URL, timeoutMs: 5_000, onTrouble: () => undefined });
    await openRedis(redis, 5_000, processTime);
  });
  afterAll(async () => {
    redis.disconnect();
    await node.stop();
  });

  /** A row as a restored or an edited database may have it: nothing looked at it when it was written. */
  async function insertPending(tenantId: number): Promise<string> {
    const dueAtMs = Date.now() - 60_000;
    const id = messageId(dueAtMs, randomBytes(ID_RANDOM_BYTES));
    await node.database.text(
      `insert into messages (id, tenant_id, shard, kind, due_at, next_attempt_at, created_at, destination, method, max_retries, timeout_ms)
       values ($1::uuid, $2, $3, 'message', $4, $4, $4, $5, 'POST', 3, 30000)`,
      [id, tenantId, shardOfMessage(id, TEST_SHARDS), new Date(dueAtMs), `${node.sink.url}/orphan`],
    );
    return id;
  }

  async function entriesInRedis(): Promise<string[]> {
    const keys = Array.from({ length: TEST_SHARDS }, (_, shard) => shardKeys(node.config.CARILLON_REDIS_PREFIX, shard));
    // At once for each shard: what circles is in one of the two at any time.
    const lists = await Promise.all(
      keys.map(({ due, inflight }) => redis.multi().zrange(due, '0', '-1').zrange(inflight, '0', '-1').exec()),
    );
    return lists.flatMap((results) => (results ?? []).flatMap(([, found]) => found as string[]));
  }

  it('because its tenant does not exist is a dead letter with the reason, and out of Redis', async () => {
    const id = await insertPending(NO_TENANT);
    const row = await untilState(node, id, 'failed');
    expect(row).toMatchObject({ in_dlq: true, attempts: 0, last_status: null });
    expect(row.last_error).toMatch(/no signing keys of tenant 0/);
    await until(async () => expect(await entriesInRedis()).not.toContain(id));
    expect(node.sink.calls).toHaveLength(0);
  });

  it('because its tenant has no signing key is a dead letter, and others are delivered', async () => {
    const [tenant] = await node.database.text<{ id: number }>(
      "insert into tenants (name) values ('keyless') returning id",
    );
    const id = await insertPending(tenant!.id);
    const beside = await insertPending(1);
    expect((await untilState(node, id, 'failed')).last_error).toMatch(/signing keys/);
    await untilState(node, beside, 'delivered');
  });

  it('because nothing can have its name is taken out of Redis', async () => {
    const { due } = shardKeys(node.config.CARILLON_REDIS_PREFIX, 3);
    await redis.zadd(due, Date.now(), 'no-id');
    await redis.zadd(due, Date.now(), 's:99999999999:none');
    const beside = await insertPending(1);
    await untilState(node, beside, 'delivered');
    await until(async () => {
      const entries = await entriesInRedis();
      expect(entries).not.toContain('no-id');
      expect(entries).not.toContain('s:99999999999:none');
    });
  });

  it('because it is a schedule of another shard is taken out of that, and the schedule fires in its own', async () => {
    await schedule(node, 'elsewhere', '* * * * * *');
    const [row] = await node.database.text<{ shard: number }>("select shard from schedules where id = 'elsewhere'");
    const { due, inflight } = shardKeys(node.config.CARILLON_REDIS_PREFIX, (row!.shard + 1) % TEST_SHARDS);
    await redis.zadd(due, Date.now() - 60_000, 's:1:elsewhere');
    const isHere = ({ scheduleId }: { scheduleId: string | undefined }): boolean => scheduleId === 'elsewhere';
    const { length } = node.sink.calls.filter(isHere);
    await node.sink.waitFor(length + 2, isHere);
    await until(async () => {
      // At once: what circles is in one of the two at any time.
      const found = await redis.multi().zscore(due, 's:1:elsewhere').zscore(inflight, 's:1:elsewhere').exec();
      expect(found).toEqual([
        [null, null],
        [null, null],
      ]);
    });
    expect((await scheduleOf(node, 'elsewhere'))?.state).toBe('active');
    await node.call('DELETE', '/v2/schedules/elsewhere');
  });

  it('because what Redis has of it cannot be read is delivered by its row', async () => {
    const response = await node.call('POST', `/v2/publish/${node.sink.url}/damaged`, {
      headers: { 'Upstash-Delay': '2s' },
    });
    const id = ((await response.json()) as { messageId: string }).messageId.slice(4);
    const { task } = shardKeys(node.config.CARILLON_REDIS_PREFIX, shardOfMessage(id, TEST_SHARDS));
    await until(async () => expect(await redis.hget(task, id)).toContain('/damaged'));
    await redis.hset(task, id, '{"damaged');
    await untilState(node, id, 'delivered');
    expect((await rowOf(node, id))?.attempts).toBe(1);
  });

  it.each([
    ['cron', `cron = 'every now and then'`, /cron/],
    ['time zone', `time_zone = 'Atlantis/Capital'`, /Atlantis/],
    ['key template', `key_template = 'a:{nonsense}'`, /nonsense/],
  ])(
    'because the %s of a schedule cannot be read says so, and fires when that is mended',
    async (what, damage, says) => {
      const id = `damaged-${what.replace(' ', '-')}`;
      await schedule(node, id, '* * * * * *');
      await node.sink.waitFor(1, ({ scheduleId }) => scheduleId === id);
      await node.database.text(`update schedules set ${damage} where id = $1`, [id]);
      const error = await until(async () => {
        const response = await node.call('GET', `/v2/schedules/${id}`);
        const view = (await response.json()) as { error?: string; state: string };
        expect(view.state).toBe('active');
        expect(view.error).toMatch(says);
        return view.error;
      });
      expect(error).toMatch(/^it cannot be fired/);
      // It stands where it stood: nothing was skipped.
      const stood = (await scheduleOf(node, id))?.next_fire_at;
      const fired = node.sink.calls.filter(({ scheduleId }) => scheduleId === id).length;
      await schedule(node, id, '* * * * * *', { headers: { 'Upstash-Retries': '1' } });
      await node.sink.waitFor(fired + 2, ({ scheduleId }) => scheduleId === id);
      const response = await node.call('GET', `/v2/schedules/${id}`);
      expect(await response.json()).not.toHaveProperty('error');
      expect(stood).not.toBeNull();
      await node.call('DELETE', `/v2/schedules/${id}`);
    },
  );
});
