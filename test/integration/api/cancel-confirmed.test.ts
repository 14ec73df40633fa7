// An acknowledged cancel is delivered by nobody (issue 12, entry 3): through a node that cannot reach Redis, and while a call begins.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shardOfMessage } from '../../../src/domain/shard.js';
import { shardKeys } from '../../../src/redis/keys.js';
import { TEST_SHARDS, type TestNode } from '../../kit/node.js';
import type { Answer as Answering } from '../../kit/sink.js';
import { startTwoNodes, type TwoNodes } from '../../kit/two-nodes.js';
import { publish, rowOf, until } from '../../kit/work.js';

let nodes: TwoNodes;
let { owner, remote, path, client } = {} as TwoNodes;
beforeAll(async () => {
  nodes = await startTwoNodes();
  ({ owner, remote, path, client } = nodes);
  // Redis keeps no payloads in the first second after a shard was filled.
  for (let shard = 0; shard < TEST_SHARDS; shard++) {
    const { state } = shardKeys(owner.config.CARILLON_REDIS_PREFIX, shard);
    await until(async () => expect(Number(await client.hget(state, 'filled'))).toBeLessThan(Date.now() - 1_100));
  }
});
afterEach(() => path.set({ kind: 'open' }));
afterAll(() => nodes.stop());

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly json: { readonly cancelled?: number; readonly error?: string };
}

async function cancel(node: TestNode, target: string): Promise<Answer> {
  const response = await node.call('DELETE', `/v2/messages${target}`);
  const json = (await response.json()) as Answer['json'];
  return { status: response.status, retryAfter: response.headers.get('retry-after'), json };
}

/** Until the owner has sent something that was due after all that was published before. */
async function untilPassed(dueAtMs: number): Promise<void> {
  const id = await publish(owner, '/after', { headers: { 'Upstash-Not-Before': String(dueAtMs / 1_000 + 0.3) } });
  await owner.sink.waitFor(1, ({ messageId }) => messageId === `msg_${id}`);
}

const reasonOf = async (id: string): Promise<unknown> => {
  const [row] = await owner.database.text<{ reason: string | null }>('select reason from messages where id = $1', [id]);
  return row?.reason;
};

describe('a cancel through a node that cannot reach Redis (issue 12, entry 3)', () => {
  it('of a message whose payload waits in Redis is not acknowledged, and asked again it is', async () => {
    const id = await publish(owner, '/payload', { headers: { 'Upstash-Delay': '60s' } });
    path.set({ kind: 'cut' });
    const refused = await cancel(remote, `/msg_${id}`);
    expect(refused).toMatchObject({ status: 503, retryAfter: '1' });
    expect(refused.json.error).toMatch(/Redis.*did not confirm.*may still be sent.*again/);
    expect(await rowOf(owner, id)).toMatchObject({ state: 'canceled' });
    expect(await reasonOf(id)).toBe('canceled by the client, without confirmation from Redis');
    expect(await cancel(owner, `/msg_${id}`)).toMatchObject({ status: 200, json: { cancelled: 1 } });
    expect(await reasonOf(id)).toBe('canceled by the client');
    expect((await cancel(owner, `/msg_${id}`)).status).toBe(404);
  });

  it('is delivered by nobody where it was acknowledged, and leaves a trace where it was not', async () => {
    const dueAtMs = Date.now() + 2_500;
    const headers = { 'Upstash-Not-Before': String(dueAtMs / 1_000) };
    const ids = await Promise.all(Array.from({ length: 6 }, () => publish(owner, '/flipped', { headers })));
    path.set({ kind: 'cut' });
    const answers = await Promise.all(ids.map((id) => cancel(remote, `/msg_${id}`)));
    await untilPassed(dueAtMs);
    for (const [index, id] of ids.entries()) {
      const sent = owner.sink.calls.some(({ messageId }) => messageId === `msg_${id}`);
      expect([answers[index]!.status, sent]).not.toEqual([200, true]);
      if (!sent) continue;
      await until(async () => expect(await rowOf(owner, id)).toMatchObject({ state: 'delivered' }));
      expect(await reasonOf(id)).toMatch(
        /^canceled at \d{4}-.*Z without confirmation from Redis, and sent nevertheless$/,
      );
    }
  });

  it('of what is read from PostgreSQL before it is sent is acknowledged, and never sent', async () => {
    const far = await publish(owner, '/far', { headers: { 'Upstash-Delay': '1h' } });
    const large = await publish(owner, '/large', { headers: { 'Upstash-Delay': '60s' }, body: 'x'.repeat(300_000) });
    path.set({ kind: 'cut' });
    for (const id of [far, large]) {
      expect(await cancel(remote, `/msg_${id}`)).toMatchObject({ status: 200, json: { cancelled: 1 } });
      expect(await reasonOf(id)).toBe('canceled by the client');
    }
  });

  it.each(['ids', 'filter'])('of many by %s says how many are certain, and completes when asked again', async (by) => {
    const label = `bulk-${by}`;
    const headers = { 'Upstash-Label': label, 'Upstash-Delay': '60s' };
    const near = [await publish(owner, '/near', { headers }), await publish(owner, '/near', { headers })];
    const far = await publish(owner, '/far', { headers: { ...headers, 'Upstash-Delay': '1h' } });
    const query = by === 'ids' ? `?${[...near, far].map((id) => `messageIds=msg_${id}`).join('&')}` : `?label=${label}`;
    path.set({ kind: 'cut' });
    const refused = await cancel(remote, query);
    expect(refused).toMatchObject({ status: 503, retryAfter: '1' });
    expect(refused.json.error).toMatch(/did not confirm the cancel of 2 messages.*1 other message is canceled/);
    expect(await cancel(owner, query)).toMatchObject({ status: 200, json: { cancelled: 2 } });
    expect(await cancel(owner, query)).toMatchObject({ status: 200, json: { cancelled: 0 } });
  });

  it('is told to Redis later, when the node reaches it again, though nobody asks again', async () => {
    const id = await publish(owner, '/told-later', { headers: { 'Upstash-Delay': '60s' } });
    path.set({ kind: 'cut' });
    expect((await cancel(remote, `/msg_${id}`)).status).toBe(503);
    path.set({ kind: 'open' });
    const { tomb } = shardKeys(owner.config.CARILLON_REDIS_PREFIX, shardOfMessage(id, TEST_SHARDS));
    await until(async () => expect(await client.zscore(tomb, id)).not.toBeNull());
  });
});

describe('a cancel of a message that is being sent (issue 12, entry 3)', () => {
  it('says that nothing was canceled where the call ends well meanwhile', async () => {
    let respond: (answer: Answering) => void = () => undefined;
    const answer = new Promise<Answering>((resolve) => (respond = resolve));
    owner.sink.answer(({ path: to }) => (to === '/ends-well' ? answer : {}));
    const id = await publish(owner, '/ends-well');
    await owner.sink.waitFor(1, ({ messageId }) => messageId === `msg_${id}`);
    const canceling = cancel(owner, `/msg_${id}`);
    await until(async () => expect(await rowOf(owner, id)).toMatchObject({ state: 'canceled' }));
    respond({ status: 200 });
    expect((await canceling).status).toBe(404);
    expect(await rowOf(owner, id)).toMatchObject({ state: 'delivered' });
  });

  it('is acknowledged when the call has begun and goes on, and its late success leaves a trace', async () => {
    let respond: (answer: Answering) => void = () => undefined;
    const answer = new Promise<Answering>((resolve) => (respond = resolve));
    owner.sink.answer(({ path: to }) => (to === '/goes-on' ? answer : {}));
    const id = await publish(owner, '/goes-on');
    await owner.sink.waitFor(1, ({ messageId }) => messageId === `msg_${id}`);
    expect(await cancel(owner, `/msg_${id}`)).toMatchObject({ status: 200, json: { cancelled: 1 } });
    respond({ status: 200 });
    await until(async () => expect(await rowOf(owner, id)).toMatchObject({ state: 'delivered' }));
    expect(await reasonOf(id)).toMatch(/^canceled at \d{4}-.*Z, but a call that had begun before was answered$/);
  });
});
