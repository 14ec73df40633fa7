// Facts about the connections behind deliveries: kept and shared, given up in time, never more than allowed, closed at once.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createHttpClient,
  type DeliveryRequest,
  type HttpClient,
  type HttpClientSettings,
} from '../../../src/delivery/http-client.js';
import type { DeliveryResult } from '../../../src/delivery/delivery-result.js';
import { createNameCache } from '../../../src/delivery/guarded-connector.js';
import { processTime } from '../../../src/time/process-time.js';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function makeClient(settings: Partial<HttpClientSettings> = {}): HttpClient {
  const client = createHttpClient({ time: processTime, allowPrivate: true, ...settings });
  cleanups.push(() => client.close());
  return client;
}

async function listen(server: TcpServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const serve = (listener: RequestListener): Promise<number> => listen(createServer(listener));

const post = (url: string, changes: Partial<DeliveryRequest> = {}): DeliveryRequest => ({
  url,
  method: 'POST',
  headers: {},
  body: Buffer.from('hello'),
  timeoutMs: 5000,
  ...changes,
});
const statusOf = (result: DeliveryResult): number | string =>
  result.kind === 'response' ? result.status : `${result.code} ${result.message}`;
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

describe('keep-alive', () => {
  it('one after another share a connection, many at once stay within the limit', async () => {
    const ports = new Set<number | undefined>();
    let under = 0;
    let most = 0;
    const port = await serve((request, answer) => {
      ports.add(request.socket.remotePort);
      most = Math.max(most, ++under);
      setImmediate(() => {
        under--;
        answer.end('ok');
      });
    });
    const client = makeClient({ connectionsPerOrigin: 5 });
    for (let i = 0; i < 5; i++) await client.deliver(post(`http://127.0.0.1:${port}/`));
    expect(ports.size).toBe(1);
    const results = await Promise.all(
      Array.from({ length: 300 }, () => client.deliver(post(`http://127.0.0.1:${port}/`))),
    );
    expect(new Set(results.map(statusOf))).toEqual(new Set([200]));
    expect(most).toBeLessThanOrEqual(5);
    expect(ports.size).toBe(5);
    expect(client.counts).toEqual({ connections: 5, idle: 5, origins: 1 });
  });

  it('an idle connection is closed after its time, and nothing of its host stays', async () => {
    const port = await serve((_request, answer) => answer.end('ok'));
    const client = makeClient({ keepAliveMs: 50 });
    await client.deliver(post(`http://127.0.0.1:${port}/`));
    expect(client.counts.connections).toBe(1);
    await expect.poll(() => client.counts).toEqual({ connections: 0, idle: 0, origins: 0 });
  });

  it('hundreds of hosts keep no more idle connections than allowed, and in the end none', async () => {
    const port = await serve((_request, answer) => answer.end('ok'));
    const resolve = createNameCache({
      time: processTime,
      ttlMs: 1000,
      maxNames: 10,
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    const client = makeClient({ keepAliveMs: 200, maxIdleConnections: 20, resolve });
    for (let round = 0; round < 10; round++) {
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) => client.deliver(post(`http://h${round}-${i}.test:${port}/`))),
      );
      expect(new Set(results.map(statusOf))).toEqual(new Set([200]));
      expect(client.counts.idle).toBeLessThanOrEqual(20);
      expect(client.counts.origins).toBeLessThanOrEqual(20);
    }
    await expect.poll(() => client.counts).toEqual({ connections: 0, idle: 0, origins: 0 });
  });

  it('a receiver that closes after each answer gets a new connection each time', async () => {
    const port = await serve((_request, answer) => answer.writeHead(200, { connection: 'close' }).end('ok'));
    const client = makeClient();
    for (let i = 0; i < 20; i++) expect(statusOf(await client.deliver(post(`http://127.0.0.1:${port}/`)))).toBe(200);
  });
});

describe('a stale connection', () => {
  /** Answers the first request of each connection and drops the connection at the second, without a word. */
  const dropSecond = (drop: (socket: Socket) => void): { server: TcpServer; seen: string[] } => {
    const seen: string[] = [];
    let connections = 0;
    const server = createTcpServer((socket) => {
      const connection = ++connections;
      let requests = 0;
      socket.on('data', () => {
        seen.push(`${connection}.${++requests}`);
        if (requests === 1) socket.write(OK);
        else drop(socket);
      });
    });
    return { server, seen };
  };

  it.each([
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
    ['closed', (socket: Socket) => socket.end()],
  ])('%s before any answer does not fail the attempt', async (_name, drop) => {
    const { server, seen } = dropSecond(drop);
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const client = makeClient();
    expect(statusOf(await client.deliver(post(url)))).toBe(200);
    expect(statusOf(await client.deliver(post(url)))).toBe(200);
    expect(seen).toEqual(['1.1', '1.2', '2.1']);
  });

  it('fails the attempt when sending again is turned off', async () => {
    const { server, seen } = dropSecond((socket) => socket.resetAndDestroy());
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const client = makeClient({ staleResendMs: 0 });
    await client.deliver(post(url));
    expect(statusOf(await client.deliver(post(url)))).toMatch(/ECONNRESET|UND_ERR_SOCKET/);
    expect(seen).toEqual(['1.1', '1.2']);
  });

  it('that was lost after a while, or with a part of an answer, fails the attempt', async () => {
    const late = dropSecond((socket) => setTimeout(() => socket.resetAndDestroy(), 80));
    const part = dropSecond((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab'));
    for (const { server, seen } of [late, part]) {
      const url = `http://127.0.0.1:${await listen(server)}/`;
      const client = makeClient({ staleResendMs: 30 });
      await client.deliver(post(url));
      expect((await client.deliver(post(url))).kind).toBe('error');
      expect(seen).toEqual(['1.1', '1.2']);
    }
  });

  it('closed by the receiver while idle is not used', async () => {
    const sockets: Socket[] = [];
    const server = createTcpServer((socket) => {
      sockets.push(socket);
      socket.on('data', () => socket.write(OK));
    });
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const client = makeClient({ staleResendMs: 0 });
    await client.deliver(post(url));
    sockets[0]?.end();
    await expect.poll(() => client.counts.connections).toBe(0);
    expect(statusOf(await client.deliver(post(url)))).toBe(200);
  });
});

describe('the guard', () => {
  const publicName = (): Promise<{ address: string; family: number }[]> =>
    Promise.resolve([{ address: '127.0.0.1', family: 4 }]);

  it.each(['http://127.0.0.1', 'http://2130706433', 'http://[::1]', 'http://[::ffff:7f00:1]', 'http://0.0.0.0'])(
    'refuses %s at connect, with the reason, and nothing reaches the server',
    async (origin) => {
      let calls = 0;
      const port = await serve((_request, answer) => {
        calls++;
        answer.end();
      });
      const result = await makeClient({ allowPrivate: false }).deliver(post(`${origin}:${port}/`));
      expect(statusOf(result)).toMatch(
        /^DESTINATION_REFUSED destination refused: .* is (a loopback|the unspecified) address/,
      );
      expect(calls).toBe(0);
    },
  );

  // Issue 11, A9: tenants are not told what a name of the inside resolves to; the operator is.
  it('refuses a name that resolves to private addresses only, and says to which in the log alone', async () => {
    const resolve = (): Promise<{ address: string; family: number }[]> =>
      Promise.resolve([
        { address: '10.1.2.3', family: 4 },
        { address: '::ffff:192.168.0.1', family: 6 },
      ]);
    const logged: unknown[] = [];
    const onRefused = (...given: unknown[]): unknown => logged.push(given);
    const client = makeClient({ allowPrivate: false, resolve, onRefused });
    for (const scheme of ['http', 'https']) {
      expect(statusOf(await client.deliver(post(`${scheme}://inside.test/`)))).toBe(
        'DESTINATION_REFUSED destination refused: inside.test resolves to a private address, and such addresses are not called here (CARILLON_ALLOW_PRIVATE_DESTINATIONS)',
      );
    }
    const told = ['inside.test', ['10.1.2.3', '::ffff:192.168.0.1']];
    expect(logged).toEqual([told, told]);
    expect(client.counts.connections).toBe(0);
  });

  it('the system’s own resolution of localhost is refused too', async () => {
    const port = await serve((_request, answer) => answer.end());
    expect(statusOf(await makeClient({ allowPrivate: false }).deliver(post(`http://localhost:${port}/`)))).toMatch(
      /DESTINATION_REFUSED/,
    );
    expect(statusOf(await makeClient({ allowPrivate: true }).deliver(post(`http://localhost:${port}/`)))).toBe(200);
  });

  it('of several addresses only the allowed are connected to', async () => {
    let calls = 0;
    const port = await serve((_request, answer) => {
      calls++;
      answer.end();
    });
    // 192.0.2.1 would be refused as well; the only public one here cannot be reached from a test.
    const resolve = (): Promise<{ address: string; family: number }[]> =>
      Promise.resolve([
        { address: '127.0.0.1', family: 4 },
        { address: '::ffff:127.0.0.1', family: 6 },
        { address: '2001:4860:ffff:ffff::1', family: 6 },
      ]);
    const result = await makeClient({ allowPrivate: false, resolve }).deliver(
      post(`http://mixed.test:${port}/`, { timeoutMs: 300 }),
    );
    expect(result.kind).toBe('error');
    expect(statusOf(result)).not.toContain('DESTINATION_REFUSED');
    expect(calls).toBe(0);
  });

  it('a name is looked up again after its time, once for connections that open together', async () => {
    let lookups = 0;
    let nowMs = 0;
    const resolve = createNameCache({
      ttlMs: 5000,
      maxNames: 10,
      time: { monotonicMs: () => nowMs },
      resolve: () => {
        lookups++;
        return publicName();
      },
    });
    const port = await serve((_request, answer) => answer.writeHead(200, { connection: 'close' }).end());
    const client = makeClient({ resolve });
    await Promise.all(Array.from({ length: 20 }, () => client.deliver(post(`http://name.test:${port}/`))));
    expect(lookups).toBe(1);
    nowMs = 5001;
    await client.deliver(post(`http://name.test:${port}/`));
    expect(lookups).toBe(2);
  });

  it('a failed look-up is not remembered', async () => {
    let lookups = 0;
    const resolve = createNameCache({
      time: processTime,
      ttlMs: 5000,
      maxNames: 10,
      resolve: () => (++lookups === 1 ? Promise.reject(new Error('no such host')) : publicName()),
    });
    const port = await serve((_request, answer) => answer.end());
    const client = makeClient({ resolve });
    expect(statusOf(await client.deliver(post(`http://name.test:${port}/`)))).toContain('no such host');
    expect(statusOf(await client.deliver(post(`http://name.test:${port}/`)))).toBe(200);
  });
});

describe('the end', () => {
  it('close ends at once what is under way, waiting, connecting or idle, and may be called again', async () => {
    let arrived = 0;
    const port = await serve((request, answer) => {
      arrived++;
      if (request.url === '/quick') answer.end('ok');
    });
    const hanging = makeClient({ resolve: () => new Promise(() => undefined) });
    const client = makeClient({ connectionsPerOrigin: 3 });
    await client.deliver(post(`http://127.0.0.1:${port}/quick`));
    const underWay = Array.from({ length: 10 }, () =>
      client.deliver(post(`http://127.0.0.1:${port}/slow`, { timeoutMs: 60_000 })),
    );
    const connecting = hanging.deliver(post('http://slow.test/', { timeoutMs: 60_000 }));
    await expect.poll(() => arrived).toBe(4);
    const startedAtMs = performance.now();
    await Promise.all([client.close(), client.close(), hanging.close()]);
    expect(performance.now() - startedAtMs).toBeLessThan(1500);
    const results = await Promise.all([
      ...underWay,
      connecting,
      client.deliver(post(`http://127.0.0.1:${port}/quick`)),
    ]);
    expect(results.every((result) => result.kind === 'error' && result.code === 'ABORTED')).toBe(true);
    expect(client.counts).toEqual({ connections: 0, idle: 0, origins: 0 });
  });

  it('a signal ends one attempt at once and no other', async () => {
    const arrived: string[] = [];
    const port = await serve((request, answer) => {
      arrived.push(request.url ?? '');
      if (request.url === '/quick') setTimeout(() => answer.end('ok'), 50);
    });
    const client = makeClient();
    const controller = new AbortController();
    const aborted = client.deliver(post(`http://127.0.0.1:${port}/slow`), controller.signal);
    const other = client.deliver(post(`http://127.0.0.1:${port}/quick`), new AbortController().signal);
    await expect.poll(() => arrived.length).toBe(2);
    controller.abort();
    expect(statusOf(await aborted)).toBe('ABORTED aborted while waiting for the answer');
    expect(statusOf(await other)).toBe(200);
    expect(statusOf(await client.deliver(post(`http://127.0.0.1:${port}/quick`), controller.signal))).toMatch(
      /^ABORTED/,
    );
  });
});
