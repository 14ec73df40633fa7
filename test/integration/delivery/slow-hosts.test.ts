// Hosts that do not answer, on a node with its usual limits: they take neither all of its slots nor the time of the others.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { startSink, type Sink } from '../../kit/sink.js';
import { publish, until } from '../../kit/work.js';

const SLOW_HOSTS = 3;
const EACH = 150;

let node: TestNode;
let slow: Sink[];
let answer: () => void = () => undefined;
beforeAll(async () => {
  node = await startTestNode();
  // Ports do not make a host (issue 11, A4).
  slow = await Promise.all(Array.from({ length: SLOW_HOSTS }, (_, index) => startSink(`127.0.0.${index + 2}`)));
  const answered = new Promise<void>((resolve) => (answer = resolve));
  for (const sink of slow) sink.answer(() => answered.then(() => ({})));
});
afterAll(async () => {
  answer();
  await node.stop();
  await Promise.all(slow.map((sink) => sink.close()));
});

async function publishTo(sink: Sink, count: number): Promise<void> {
  const items = Array.from({ length: count }, () => ({ destination: `${sink.url}/slow` }));
  const response = await node.call('POST', '/v2/batch', { body: JSON.stringify(items) });
  expect(response.status).toBe(200);
}

const underWay = (): number => slow.reduce((sum, sink) => sum + sink.calls.length, 0);

it('three dead-slow hosts with more work than all slots hold up no other', async () => {
  await Promise.all(slow.map((sink) => publishTo(sink, EACH)));
  // As many as they may have; each has some.
  await until(async () => {
    await Promise.resolve();
    expect(underWay()).toBeGreaterThanOrEqual(150);
  });
  await Promise.all(Array.from({ length: 50 }, (_, index) => publish(node, `/quick/${index}`)));
  // Were they held up, it would be for the half minute until the slow calls run into their timeouts.
  await node.sink.waitFor(50, undefined, 10_000);
  expect(underWay()).toBeLessThan(200);
  for (const sink of slow) expect(sink.calls.length).toBeLessThanOrEqual(100);
});
