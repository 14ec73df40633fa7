// Whose address is the caller's: the one at the other end of the socket, or what a trusted load balancer says.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestNode, TEST_TOKEN, type TestNode } from '../../kit/node.js';

const FORWARDED = '203.0.113.9';

async function callerSeenBy(node: TestNode, forwarded: string): Promise<unknown> {
  const response = await fetch(`${node.url}/v2/publish/${node.sink.url}/caller`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TEST_TOKEN}`, 'x-forwarded-for': forwarded },
  });
  const { messageId } = (await response.json()) as { messageId: string };
  const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === messageId);
  return call!.headers['upstash-caller-ip'];
}

let trusting: TestNode;
let plain: TestNode;

beforeAll(async () => {
  [trusting, plain] = await Promise.all([startTestNode({ CARILLON_TRUSTED_PROXIES: '127.0.0.0/8' }), startTestNode()]);
});
afterAll(() => Promise.all([trusting.stop(), plain.stop()]));

it('a trusted load balancer names the caller', async () => {
  expect(await callerSeenBy(trusting, FORWARDED)).toBe(FORWARDED);
  expect(await callerSeenBy(trusting, `10.1.1.1, ${FORWARDED}`)).toBe(FORWARDED);
  expect(await callerSeenBy(trusting, '::ffff:203.0.113.9')).toBe(FORWARDED);
});

it('what is no address is not believed', async () => {
  expect(await callerSeenBy(trusting, 'unknown')).toBe('127.0.0.1');
});

it('nobody else is asked', async () => {
  expect(await callerSeenBy(plain, FORWARDED)).toBe('127.0.0.1');
});
