// A whole node on real stores: what goes in comes out, once, on time, and is on the record.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.stop());

interface Published {
  messageId: string;
}

describe('a node', () => {
  it('delivers a message at once and records it', async () => {
    const response = await node.call('POST', `/v2/publish/${node.sink.url}/now`, { body: 'hello' });
    expect(response.status).toBe(200);
    const { messageId } = (await response.json()) as Published;
    const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === messageId);
    expect(call?.body.toString()).toBe('hello');
    await expect
      .poll(() =>
        node.database.text(`select state, attempts, last_status from messages where id = $1`, [messageId.slice(4)]),
      )
      .toEqual([{ state: 'delivered', attempts: 1, last_status: 200 }]);
  });

  it('delivers a delayed message not before its time', async () => {
    const askedAtMs = Date.now();
    const response = await node.call('POST', `/v2/publish/${node.sink.url}/later`, {
      headers: { 'Upstash-Delay': '1s' },
    });
    const { messageId } = (await response.json()) as Published;
    const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === messageId);
    expect((call?.atMs ?? 0) - askedAtMs).toBeGreaterThanOrEqual(1_000);
  });

  it('fires a schedule each second, each occurrence once', async () => {
    const response = await node.call('POST', `/v2/schedules/${node.sink.url}/tick`, {
      headers: { 'Upstash-Cron': '* * * * * *', 'Upstash-Schedule-Id': 'ticks' },
    });
    expect(response.status).toBeLessThan(300);
    const calls = await node.sink.waitFor(3, (candidate) => candidate.scheduleId === 'ticks');
    const occurrences = calls.map((call) => Date.parse(call.occurrence ?? ''));
    expect(new Set(occurrences).size).toBe(occurrences.length);
    expect(occurrences[1]! - occurrences[0]!).toBe(1_000);
    for (const call of calls) expect(call.atMs).toBeGreaterThanOrEqual(Date.parse(call.occurrence ?? ''));
    await node.call('DELETE', '/v2/schedules/ticks');
  });

  it('tries again after a failure and says which attempt it is', async () => {
    let failures = 0;
    node.sink.answer((call) => (call.path === '/flaky' && failures++ < 2 ? { status: 503 } : {}));
    const response = await node.call('POST', `/v2/publish/${node.sink.url}/flaky`, {
      headers: { 'Upstash-Retry-Delay': '100', 'Upstash-Retries': '3' },
    });
    const { messageId } = (await response.json()) as Published;
    const calls = await node.sink.waitFor(3, (candidate) => candidate.messageId === messageId);
    expect(calls.map((call) => call.retried)).toEqual([0, 1, 2]);
    await expect
      .poll(() => node.database.text(`select state, attempts from messages where id = $1`, [messageId.slice(4)]))
      .toEqual([{ state: 'delivered', attempts: 3 }]);
    expect(
      await node.database.text('select attempt, status from attempts where message_id = $1 order by 1', [
        messageId.slice(4),
      ]),
    ).toEqual([
      { attempt: 1, status: 503 },
      { attempt: 2, status: 503 },
    ]);
  });
});
