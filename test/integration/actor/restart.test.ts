// A node that is stopped in order hands everything back: the next one goes on, nothing is lost and nothing is sent twice.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { expectInvariants, publish, rowOf, untilState } from '../../kit/work.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode({ CARILLON_DRAIN_MS: 1_000 });
});
afterAll(async () => {
  await expectInvariants(node);
  await node.stop();
});

const callsOf = (ids: readonly string[]) =>
  node.sink.calls.filter(({ messageId }) => ids.includes(messageId.slice('msg_'.length)));

describe('a node that is stopped', () => {
  it('finishes what is under way, and the next one delivers the rest, each once', async () => {
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    node.sink.answer(async ({ path }) => {
      if (path === '/under-way') await held;
      return {};
    });
    const underWay = await Promise.all(Array.from({ length: 30 }, () => publish(node, '/under-way')));
    const later = await Promise.all(
      Array.from({ length: 30 }, () => publish(node, '/later', { headers: { 'Upstash-Delay': '2s' } })),
    );
    await node.sink.waitFor(30, ({ path }) => path === '/under-way');
    const restarted = node.restartNode();
    answer();
    await restarted;
    for (const id of [...underWay, ...later]) await untilState(node, id, 'delivered');
    expect(callsOf([...underWay, ...later])).toHaveLength(60);
    for (const id of underWay) expect(await rowOf(node, id)).toMatchObject({ attempts: 1 });
  });

  it('under load loses and repeats nothing, three times in a row', async () => {
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      const wave = Array.from({ length: 60 }, (_, index) =>
        publish(node, '/wave', { headers: { 'Upstash-Delay': `${index % 3}s` } }),
      );
      ids.push(...(await Promise.all(wave)));
      await node.restartNode();
    }
    for (const id of ids) await untilState(node, id, 'delivered');
    expect(callsOf(ids)).toHaveLength(ids.length);
  });

  it('gives back what does not end within the drain limit, and the next one sends it again with the same id', async () => {
    let calls = 0;
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    node.sink.answer(async ({ path }) => {
      if (path === '/endless' && calls++ === 0) await held;
      return {};
    });
    const id = await publish(node, '/endless');
    await node.sink.waitFor(1, ({ path }) => path === '/endless');
    const stoppedAtMs = performance.now();
    await node.stopNode();
    expect(performance.now() - stoppedAtMs).toBeLessThan(6_000);
    await node.restartNode();
    const [first, second] = await node.sink.waitFor(2, ({ path }) => path === '/endless');
    expect(second!.messageId).toBe(first!.messageId);
    // Given back at once, it does not wait for a claim to lapse.
    expect(await untilState(node, id, 'delivered', 5_000)).toMatchObject({ attempts: 1 });
    answer();
  });

  it('while retries keep coming ends within the drain limit (report 31)', async () => {
    node.sink.answer(({ path }) => (path === '/again-and-again' ? { status: 500 } : {}));
    const headers = { 'Upstash-Retries': '90', 'Upstash-Retry-Delay': '1' };
    await Promise.all(Array.from({ length: 20 }, () => publish(node, '/again-and-again', { headers })));
    await node.sink.waitFor(60, ({ path }) => path === '/again-and-again');
    const stoppedAtMs = performance.now();
    await node.stopNode();
    expect(performance.now() - stoppedAtMs).toBeLessThan(6_000);
    node.sink.answer(() => ({}));
    await node.restartNode();
    const rows = `select count(*)::integer as count from messages where state <> 'delivered'`;
    await expect.poll(() => node.database.text(rows), { timeout: 15_000 }).toEqual([{ count: 0 }]);
  });

  it('refuses nothing that it has accepted: what came in just before the end is delivered by the next', async () => {
    const accepted: string[] = [];
    // Until it is refused: by the node that stops, or because nobody listens any more.
    const client = async (): Promise<void> => {
      for (;;) {
        const response = await node.call('POST', `/v2/publish/${node.sink.url}/last-moment`).catch(() => null);
        if (response?.ok !== true) return;
        accepted.push(((await response.json()) as { messageId: string }).messageId.slice(4));
      }
    };
    const clients = Promise.all(Array.from({ length: 4 }, client));
    await node.sink.waitFor(5, ({ path }) => path === '/last-moment');
    await Promise.all([clients, node.stopNode()]);
    expect(accepted.length).toBeGreaterThan(4);
    await node.restartNode();
    for (const id of accepted) await untilState(node, id, 'delivered');
    expect(callsOf(accepted)).toHaveLength(accepted.length);
  });
});
