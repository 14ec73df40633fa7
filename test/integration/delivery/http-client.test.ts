// Facts about single attempts, against real servers on this machine: what is sent, what is kept, and how each kind of trouble ends.
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createHttpClient,
  type DeliveryRequest,
  type HttpClient,
  type HttpClientSettings,
} from '../../../src/delivery/http-client.js';
import type { DeliveryError, DeliveryResponse, DeliveryResult } from '../../../src/delivery/delivery-result.js';
import { processTime } from '../../../src/time/process-time.js';

const cleanups: (() => Promise<unknown> | undefined)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function makeClient(settings: Partial<HttpClientSettings> = {}): HttpClient {
  const client = createHttpClient({ time: processTime, allowPrivate: true, ...settings });
  cleanups.push(() => client.close());
  return client;
}

async function listen(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
    return undefined;
  });
  return listen(server);
}

/** A server that speaks raw bytes; the handler gets each socket once its first bytes came. */
async function serveRaw(onRequest: (socket: Socket, connection: number, request: number) => void): Promise<string> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    const connection = ++connections;
    let requests = 0;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', () => onRequest(socket, connection, ++requests));
  });
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    return undefined;
  });
  return listen(server);
}

const post = (url: string, changes: Partial<DeliveryRequest> = {}): DeliveryRequest => ({
  url,
  method: 'POST',
  headers: { 'Content-Type': 'text/plain' },
  body: Buffer.from('hello'),
  timeoutMs: 5000,
  ...changes,
});

function response(result: DeliveryResult): DeliveryResponse {
  if (result.kind !== 'response') throw new Error(`expected an answer, got ${result.code}: ${result.message}`);
  return result;
}
function failure(result: DeliveryResult): DeliveryError {
  if (result.kind !== 'error') throw new Error(`expected an error, got status ${result.status}`);
  return result;
}

describe('a request', () => {
  it('goes out with every byte of its body, its headers and its raw path', async () => {
    const seen: {
      body: Buffer;
      url: string | undefined;
      method: string | undefined;
      headers: NodeJS.Dict<string[]>;
    }[] = [];
    const url = await serve((request, answer) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen.push({
          body: Buffer.concat(chunks),
          url: request.url,
          method: request.method,
          headers: request.headersDistinct,
        });
        answer.writeHead(201, { 'X-Many': ['a', 'b'] }).end(Buffer.from([0, 255, 0]));
      });
    });
    const body = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 256));
    const headers = { 'X-One': '\u00e9', 'X-Two': ['1', '2'] };
    const result = response(
      await makeClient().deliver(post(`${url}//a%2Fb/%C3%A9?x=1&y=a%20b#frag`, { method: 'PUT', headers, body })),
    );
    expect(result).toMatchObject({ status: 201, truncated: false });
    expect(result.body).toEqual(Buffer.from([0, 255, 0]));
    expect(result.headers['x-many']).toEqual(['a', 'b']);
    expect(result.durationMs).toBeGreaterThan(0);
    expect(seen[0]?.body.equals(body)).toBe(true);
    expect(seen[0]).toMatchObject({ url: '//a%2Fb/%C3%A9?x=1&y=a%20b', method: 'PUT' });
    expect(seen[0]?.headers).toMatchObject({
      'x-one': ['\u00e9'],
      'x-two': ['1', '2'],
      'content-length': ['70000'],
      host: [new URL(url).host],
    });
  });

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('%s without a body is answered, twice', async (method) => {
    const url = await serve((request, answer) =>
      answer.end(`${request.method ?? ''} ${request.headers['transfer-encoding'] ?? ''}`),
    );
    const client = makeClient();
    for (let i = 0; i < 2; i++) {
      const result = response(await client.deliver(post(url, { method, body: Buffer.alloc(0), headers: {} })));
      expect(result.body.toString()).toBe(`${method} `);
    }
  });

  it.each([
    ['a line break in a header', { headers: { 'X-A': 'a\r\nX-B: b' } }],
    ['NUL in a header', { headers: { 'X-A': 'a\0b' } }],
    ['a character no header can carry', { headers: { 'X-A': '€' } }],
    ['a header name with a blank', { headers: { 'X A': 'a' } }],
    ['a header that belongs to the connection', { headers: { 'Transfer-Encoding': 'chunked' } }],
    ['a method that is none', { method: 'PO ST' }],
    ['a URL that is none', { url: 'nonsense' }],
    ['another scheme', { url: 'ftp://127.0.0.1/' }],
  ])('with %s is an error result, and the client goes on', async (_name, changes) => {
    const url = await serve((_request, answer) => answer.end('ok'));
    const client = makeClient();
    const result = failure(await client.deliver(post(url, changes)));
    expect(result.code).toBe('INVALID_REQUEST');
    expect(response(await client.deliver(post(url))).status).toBe(200);
  });

  it('invalid ones in a long line for one connection all end', async () => {
    const url = await serve((_request, answer) => answer.end('ok'));
    const client = makeClient({ connectionsPerOrigin: 1 });
    const results = await Promise.all(
      Array.from({ length: 3000 }, (_, i) => client.deliver(post(url, i === 2999 ? {} : { headers: { 'X-A': '\0' } }))),
    );
    expect(results.slice(0, -1).every((result) => result.kind === 'error' && result.code === 'INVALID_REQUEST')).toBe(
      true,
    );
    expect(results.at(-1)?.kind).toBe('response');
  });
});

describe('an answer', () => {
  it.each([301, 302, 307, 308])('%i is an outcome and is not followed', async (status) => {
    let calls = 0;
    const url = await serve((_request, answer) => {
      calls++;
      answer.writeHead(status, { Location: '/elsewhere' }).end();
    });
    expect(response(await makeClient().deliver(post(url))).status).toBe(status);
    expect(calls).toBe(1);
  });

  it('without a body (204), or announced by 103, is complete', async () => {
    const url = await serve((request, answer) => {
      if (request.url === '/hints') answer.writeEarlyHints({ link: '</a.css>; rel=preload' });
      answer.writeHead(204).end();
    });
    const client = makeClient();
    expect(response(await client.deliver(post(url))).status).toBe(204);
    expect(response(await client.deliver(post(`${url}/hints`))).status).toBe(204);
  });

  it.each([
    [10, 10, false],
    [10, 9, true],
    [10, 0, true],
    [0, 0, false],
    [1_000_000, 1_000_000, false],
    [1_000_000, 4096, true],
  ])('of %i bytes with %i to keep is truncated: %s', async (size, keepBytes, truncated) => {
    const sent = Buffer.from(Array.from({ length: size }, (_, i) => i % 251));
    const url = await serve((_request, answer) => answer.end(sent));
    const result = response(await makeClient().deliver(post(url, { keepBytes })));
    expect(result.truncated).toBe(truncated);
    expect(result.body.equals(sent.subarray(0, keepBytes))).toBe(true);
  });

  it('in a thousand one-byte chunks is put together', async () => {
    const url = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(1000)}0\r\n\r\n`),
    );
    expect(response(await makeClient().deliver(post(url))).body.toString()).toBe('x'.repeat(1000));
  });

  it('that is a little too long leaves the connection usable', async () => {
    const url = await serve((request, answer) => answer.end(`${request.socket.remotePort ?? 0} `.padEnd(20_000, 'x')));
    const client = makeClient();
    const ports: (string | undefined)[] = [];
    for (let i = 0; i < 3; i++) {
      ports.push(
        response(await client.deliver(post(url, { keepBytes: 100 })))
          .body.toString()
          .split(' ')[0],
      );
      // The rest of the answer is on its way.
      await expect.poll(() => client.counts.idle).toBe(1);
    }
    expect(new Set(ports).size).toBe(1);
  });

  it('without end settles at the bound, and its connection is closed', async () => {
    let open = 0;
    const url = await serve((_request, answer) => {
      open++;
      const timer = setInterval(() => answer.write(Buffer.alloc(16_384)), 1);
      answer.on('close', () => {
        clearInterval(timer);
        open--;
      });
    });
    const client = makeClient();
    const result = response(await client.deliver(post(url, { timeoutMs: 60_000 })));
    expect(result).toMatchObject({ status: 200, truncated: true });
    expect(result.body.length).toBe(4096);
    await expect.poll(() => open).toBe(0);
    expect(client.counts.connections).toBe(0);
  });

  it('that stops beyond the bound but never ends does not hold its connection for long', async () => {
    const url = await serve((_request, answer) => answer.write('x'.repeat(5000)));
    const client = makeClient();
    expect(response(await client.deliver(post(url, { timeoutMs: 60_000 }))).truncated).toBe(true);
    await expect.poll(() => client.counts.connections, { timeout: 5000 }).toBe(0);
  });

  it('with headers that repeat, are binary or named __proto__ is read like any other', async () => {
    const url = await serveRaw((socket) => {
      socket.write(
        Buffer.from(
          'HTTP/1.1 200 OK\r\n__proto__: a\r\nX-A: \xe9\r\nx-a: 2\r\nConstructor: c\r\ncontent-length: 0\r\n\r\n',
          'latin1',
        ),
      );
    });
    const { headers } = response(await makeClient().deliver(post(url)));
    expect(headers['x-a']).toEqual(['\u00e9', '2']);
    expect(headers.constructor).toEqual(['c']);
    expect(Object.keys(headers).sort()).toEqual(['__proto__', 'constructor', 'content-length', 'x-a']);
  });
});

describe('trouble', () => {
  it('a refused connection is told with its code', async () => {
    const server = createTcpServer();
    const url = await listen(server);
    server.close();
    await once(server, 'close');
    const result = failure(await makeClient().deliver(post(url)));
    expect(result.code).toBe('ECONNREFUSED');
    expect(result.message).toContain('127.0.0.1');
  });

  it('a name that does not resolve is told', async () => {
    const result = failure(await makeClient().deliver(post('http://nothing.invalid/')));
    expect(['ENOTFOUND', 'EAI_AGAIN']).toContain(result.code);
    expect(result.message).toContain('nothing.invalid');
  });

  it.each([
    ['a reset before the answer', (socket: Socket) => socket.resetAndDestroy(), /ECONNRESET|UND_ERR_SOCKET/],
    ['a close before the answer', (socket: Socket) => socket.end(), /UND_ERR_SOCKET/],
    ['a close in the headers', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'), /UND_ERR_SOCKET/],
    [
      'a reset in the body',
      (socket: Socket) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', () => socket.resetAndDestroy()),
      /ECONNRESET|UND_ERR_SOCKET/,
    ],
    [
      'a close in the body',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'),
      /UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH/,
    ],
    [
      'bad chunks',
      (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n'),
      /^INVALID_ANSWER$/,
    ],
    [
      'a close in the chunks',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab'),
      /UND_ERR_SOCKET|INVALID_ANSWER/,
    ],
    ['no HTTP at all', (socket: Socket) => socket.write('SSH-2.0-OpenSSH\r\n\0\0\0'), /^INVALID_ANSWER$/],
    [
      'NUL in a header',
      (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: a\0b\r\ncontent-length: 0\r\n\r\n'),
      /^INVALID_ANSWER$/,
    ],
    [
      'a switch of protocols',
      (socket: Socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      /UND_ERR_SOCKET/,
    ],
    [
      'a header of 300 kB',
      (socket: Socket) => socket.write(`HTTP/1.1 200 OK\r\nx-a: ${'y'.repeat(300_000)}\r\n\r\n`),
      /UND_ERR_HEADERS_OVERFLOW/,
    ],
    [
      'headers without end',
      (socket: Socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x-a: y\r\n'.repeat(100_000)}`),
      /UND_ERR_HEADERS_OVERFLOW/,
    ],
  ])('%s is an error result, sent once, and leaves no connection', async (_name, answer, code) => {
    let requests = 0;
    const url = await serveRaw((socket) => {
      requests++;
      answer(socket);
    });
    const client = makeClient();
    const result = failure(await client.deliver(post(url)));
    expect(result.code).toMatch(code);
    expect(result.message.length).toBeGreaterThan(0);
    // eslint-disable-next-line no-control-regex
    expect(result.message).not.toMatch(/[\u0000-\u001f]/);
    expect(requests).toBe(1);
    expect(client.counts).toEqual({ connections: 0, idle: 0, origins: 0 });
  });

  it('an answer without length that ends with its connection is complete', async () => {
    const url = await serveRaw((socket) => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall of it'));
    expect(response(await makeClient().deliver(post(url))).body.toString()).toBe('all of it');
  });
});

describe('the timeout', () => {
  it.each([
    ['no answer', () => undefined, 'waiting for the answer'],
    ['half a header', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nx-'), 'waiting for the answer'],
    [
      'half a body',
      (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'),
      'reading the answer',
    ],
  ])('covers %s', async (_name, answer, phase) => {
    const closed: Promise<unknown>[] = [];
    const url = await serveRaw((socket) => {
      closed.push(once(socket, 'close'));
      answer(socket);
    });
    const client = makeClient();
    const result = failure(await client.deliver(post(url, { timeoutMs: 400 })));
    expect(result).toMatchObject({ code: 'TIMEOUT', message: `no complete answer within 400 ms (${phase})` });
    expect(result.durationMs).toBeGreaterThan(390);
    expect(client.counts.connections).toBe(0);
    await Promise.all(closed);
  });

  it('covers a body that trickles', async () => {
    const url = await serve((_request, answer) => {
      const timer = setInterval(() => answer.write('.'), 5);
      answer.on('close', () => clearInterval(timer));
    });
    expect(failure(await makeClient().deliver(post(url, { timeoutMs: 400 }))).message).toContain('reading the answer');
  });

  it('covers a look-up that hangs, and does not keep what it waited for', async () => {
    const client = makeClient({ resolve: () => new Promise(() => undefined) });
    const result = failure(await client.deliver(post('http://slow.test/', { timeoutMs: 40 })));
    expect(result.message).toBe('no complete answer within 40 ms (connecting)');
    expect(client.counts).toEqual({ connections: 0, idle: 0, origins: 0 });
  });

  it('covers waiting for one of few connections, and the line goes on without those that left', async () => {
    const answers: (() => void)[] = [];
    const url = await serve((_request, answer) => answers.push(() => answer.end('ok')));
    const client = makeClient({ connectionsPerOrigin: 1 });
    const first = client.deliver(post(url));
    const impatient = client.deliver(post(url, { timeoutMs: 40 }));
    const patient = client.deliver(post(url));
    expect(failure(await impatient).message).toContain('waiting for a connection');
    expect(client.counts.connections).toBe(1);
    answers.shift()?.();
    expect(response(await first).status).toBe(200);
    await expect.poll(() => answers.length).toBe(1);
    answers.shift()?.();
    expect(response(await patient).status).toBe(200);
  });

  it('of one attempt leaves the others on the same host alone', async () => {
    const url = await serve((request, answer) => {
      if (request.url === '/quick') setTimeout(() => answer.end('ok'), 100);
    });
    const client = makeClient();
    const [slow, quick] = await Promise.all([
      client.deliver(post(`${url}/slow`, { timeoutMs: 40 })),
      client.deliver(post(`${url}/quick`)),
    ]);
    expect(failure(slow).code).toBe('TIMEOUT');
    expect(response(quick).status).toBe(200);
  });
});
