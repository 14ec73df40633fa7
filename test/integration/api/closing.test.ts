// A request that comes over a kept connection when the API is closing.

import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { startTestNode } from '../../kit/node.js';

it('is told to come again, and when', async () => {
  const node = await startTestNode();
  try {
    const { port } = new URL(node.url);
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    const closed = once(socket, 'close');
    // The first request is under way, its body is not complete, while the node is asked to stop.
    const head = [
      `POST /v2/publish/${node.sink.url}/last HTTP/1.1`,
      'host: carillon',
      `authorization: Bearer ${node.token}`,
      'content-length: 4',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\nwo`);
    await expect.poll(async () => (await node.call('GET', '/readyz')).status).toBe(200);
    const stopped = node.stopNode();
    // New connections are taken no more; this one has an answer coming.
    await expect
      .poll(() =>
        node.call('GET', '/healthz').then(
          () => true,
          () => false,
        ),
      )
      .toBe(false);
    socket.write(`rkGET /healthz HTTP/1.1\r\nhost: carillon\r\n\r\n`);
    await closed;
    await stopped;
    const [, first = '', second = ''] = received.split('HTTP/1.1 ');
    expect(first).toMatch(/^200 /);
    expect(second).toMatch(/^503 /);
    expect(second).toMatch(/retry-after: 1\r\n/i);
    expect(second).toContain('{"error":"this node is stopping: send the request again"}');
  } finally {
    await node.stop();
  }
});
