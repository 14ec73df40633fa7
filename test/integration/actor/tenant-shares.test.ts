// Issue 11, A4: no tenant's calls, however many hang and wherever they go, hold up the work of another tenant.

import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { publish, until } from '../../kit/work.js';

const HANGING = 260;

/** Listens and never answers; counts the connections that are open. */
class Silence {
  readonly #sockets = new Set<Socket>();
  readonly #servers: Server[] = [];
  #changedAtMs = performance.now();

  get open(): number {
    return this.#sockets.size;
  }

  /** How long no connection has been opened. */
  get stillMs(): number {
    return performance.now() - this.#changedAtMs;
  }

  async listen(host: string): Promise<number> {
    const server = createServer((socket) => {
      this.#sockets.add(socket);
      this.#changedAtMs = performance.now();
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    this.#servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }
}

let node: TestNode;
let silence: Silence;

async function start(): Promise<void> {
  silence = new Silence();
  node = await startTestNode();
}

afterEach(async () => {
  silence.close();
  await node.stop();
});

async function tenantToken(name: string): Promise<string> {
  const admin = { headers: { authorization: `Bearer ${node.adminToken}` } };
  await node.call('POST', '/admin/tenants', { ...admin, body: JSON.stringify({ name }) });
  const response = await node.call('POST', `/admin/tenants/${name}/tokens`, { ...admin, body: '{}' });
  return ((await response.json()) as { token: string }).token;
}

async function publishTo(destinations: readonly string[], token: string): Promise<void> {
  const items = destinations.map((destination) => ({ destination, headers: { 'Upstash-Retries': '0' } }));
  const headers = { authorization: `Bearer ${token}` };
  const response = await node.call('POST', '/v2/batch', { headers, body: JSON.stringify(items) });
  expect(response.status).toBe(200);
}

/** Waits until so many of the hanging calls have begun, and no more begin. */
async function untilHeld(atLeast: number): Promise<void> {
  await until(() => {
    expect(silence.open).toBeGreaterThanOrEqual(atLeast);
    expect(silence.stillMs, `${silence.open} calls are open`).toBeGreaterThan(200);
    return Promise.resolve();
  });
}

/** It takes a second at most when nothing else uses the machine; were it held up, it would take half a minute, until calls run into their timeouts. */
const SOON_MS = 8_000;

async function expectDelivery(token: string, count = 1): Promise<void> {
  const before = node.sink.calls.length;
  await Promise.all(Array.from({ length: count }, (_, index) => publish(node, `/quick/${index}`, { token })));
  await node.sink.waitFor(before + count, undefined, SOON_MS);
}

const ports = (): Promise<number[]> => Promise.all(Array.from({ length: HANGING }, () => silence.listen('127.0.0.1')));

async function hosts(network: number): Promise<string[]> {
  const port = await silence.listen('0.0.0.0');
  return Array.from(
    { length: HANGING },
    (_, index) => `http://127.${network}.${1 + (index >> 7)}.${1 + (index & 127)}:${port}/`,
  );
}

describe('issue 11, A4: a tenant whose calls all hang', () => {
  it('at many ports of one host has no more of them than one host may have, and another tenant is served', async () => {
    await start();
    await publishTo(
      (await ports()).map((port) => `http://127.0.0.1:${port}/`),
      node.token,
    );
    await untilHeld(50);
    expect(silence.open).toBeLessThanOrEqual(node.config.CARILLON_HOST_CONCURRENCY);
    // At the same host, too.
    await expectDelivery(await tenantToken('other'), 5);
  });

  it('at many hosts has nearly all slots, and another tenant is served', async () => {
    await start();
    await publishTo(await hosts(1), node.token);
    await untilHeld(0.75 * node.config.CARILLON_CONCURRENCY);
    expect(silence.open).toBeLessThan(node.config.CARILLON_CONCURRENCY);
    await expectDelivery(await tenantToken('other'), 5);
  });

  it('leaves something for the third and the fifth tenant when those between hang as well', async () => {
    await start();
    await publishTo(await hosts(1), node.token);
    await untilHeld(150);
    await publishTo(await hosts(2), await tenantToken('second'));
    await untilHeld(151);
    await expectDelivery(await tenantToken('third'));
    for (const [network, name] of [
      [3, 'third-too'],
      [4, 'fourth'],
    ] as const) {
      const open = silence.open;
      await publishTo(await hosts(network), await tenantToken(name));
      await untilHeld(open + 1);
    }
    await expectDelivery(await tenantToken('fifth'));
  });
});
