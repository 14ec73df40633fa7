// Issue 11, A9: connections that never say who they are take nothing from administrators.

import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { CLOSE } from '../../../src/admin/protocol.js';
import { AdminClient } from '../../kit/admin-client.js';
import { startTestNode, TEST_ADMIN_TOKEN, type TestNode } from '../../kit/node.js';

const PER_ADDRESS = 5;
const TOTAL = 40;

let node: TestNode;
const clients: AdminClient[] = [];
beforeAll(async () => {
  node = await startTestNode({
    CARILLON_ADMIN_HELLO_MS: 60_000,
    CARILLON_ADMIN_ANONYMOUS_PER_ADDRESS_MAX: PER_ADDRESS,
    CARILLON_ADMIN_ANONYMOUS_MAX: TOTAL,
    CARILLON_ADMIN_SOCKETS_MAX: 2,
    CARILLON_TRUSTED_PROXIES: '127.0.0.1',
    CARILLON_HEADERS_TIMEOUT_MS: 200,
  });
});
afterAll(() => node.stop());

/** Opens a socket as the load balancer passes it on from this address; says hello where there is a token. */
function from(address: string, token: string | null = null): AdminClient {
  const client = new AdminClient(node.url, { token, headers: { 'x-forwarded-for': address } });
  clients.push(client);
  return client;
}

const open = (sockets: readonly AdminClient[]): AdminClient[] =>
  sockets.filter(({ socket }) => socket.readyState === WebSocket.OPEN);

/** Resolves when each was opened, or closed before its client heard of that. */
const settled = (sockets: readonly AdminClient[]): Promise<unknown> =>
  Promise.all(sockets.map((client) => Promise.race([client.opened(), client.closed])));

async function closeAll(): Promise<void> {
  for (const { socket } of clients) socket.terminate();
  await Promise.all(clients.splice(0).map(({ closed }) => closed));
}

describe('sockets that say nothing', () => {
  it('are so many for an address, of which the oldest goes first; others and consoles stay', async () => {
    const console = from('203.0.113.1', TEST_ADMIN_TOKEN);
    await console.until('a snapshot', () => true);
    const other = from('203.0.113.2');
    await other.opened();
    const silent = Array.from({ length: 250 }, () => from('203.0.113.1'));
    await settled(silent);
    await expect.poll(() => open(silent).length).toBe(PER_ADDRESS);
    // Whoever hears of it hears why.
    const [first] = silent;
    expect([1013, 1006]).toContain((await first!.closed).code);
    expect(open([other, console])).toHaveLength(2);
    const second = from('203.0.113.1', TEST_ADMIN_TOKEN);
    await second.until('a snapshot beside silent ones of the same address', () => true);
    await closeAll();
  });

  it('are so many in all, whatever the number of their addresses, and an administrator gets in', async () => {
    const silent = Array.from({ length: 400 }, (_, index) => from(`198.51.${index % 100}.${index % 256}`));
    await settled(silent);
    await expect.poll(() => open(silent).length).toBe(TOTAL);
    const console = from('203.0.113.9', TEST_ADMIN_TOKEN);
    await console.until('a snapshot', () => true);
    expect(open(silent).length).toBeGreaterThanOrEqual(TOTAL - 1);
    await closeAll();
  });

  it('of one network of IPv6 count together', async () => {
    const silent = Array.from({ length: 20 }, (_, index) => from(`2001:db8:1:2::${index.toString(16)}`));
    const other = from('2001:db8:1:3::1');
    await settled([...silent, other]);
    await expect.poll(() => open(silent).length).toBe(PER_ADDRESS);
    expect(open([other])).toHaveLength(1);
    await closeAll();
  });

  it('do not count as consoles, whose own bound is said to whoever comes too late', async () => {
    const consoles = ['203.0.113.1', '203.0.113.2'].map((address) => from(address, TEST_ADMIN_TOKEN));
    await Promise.all(consoles.map((client) => client.until('a snapshot', () => true)));
    expect(await from('203.0.113.3', TEST_ADMIN_TOKEN).closed).toMatchObject({ code: 1013 });
    expect(open(consoles)).toHaveLength(2);
    await closeAll();
  });

  it('may say one thing of bounded length, whatever it is made of', async () => {
    const cases: readonly (readonly [unknown, number])[] = [
      [{ type: 'hello', token: 'x', more: 'y'.repeat(10_000) }, CLOSE.badMessage],
      [{ type: '€'.repeat(100) }, CLOSE.badMessage],
      [{ type: '\u{1f600}'.repeat(100) }, CLOSE.badMessage],
      [{ type: { deep: '\ud800' } }, CLOSE.badMessage],
      ['['.repeat(8_000), CLOSE.badMessage],
      [{ type: 'hello', token: null }, CLOSE.badMessage],
    ];
    for (const [message, code] of cases) {
      const client = from('203.0.113.4');
      await client.opened();
      client.say(message);
      expect(await client.closed, JSON.stringify(message).slice(0, 40)).toMatchObject({ code });
    }
    expect((await node.call('GET', '/readyz')).status).toBe(200);
    await closeAll();
  });
});

describe('connections that ask for nothing', () => {
  it.each([
    ['nothing', ''],
    ['half of their headers', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: '],
  ])('and send %s are closed in time', async (_, text) => {
    const { hostname, port } = new URL(node.url);
    const socket: Socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.resume();
    if (text !== '') socket.write(text);
    await new Promise((resolve) => socket.once('close', resolve));
  });
});
