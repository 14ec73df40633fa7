// Which answers are delivered work: all that HTTP says are complete, in whatever spelling, and each request is sent once (issue 11, C).
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createHttpClient, type DeliveryRequest, type HttpClient } from '../../../src/delivery/http-client.js';
import { processTime } from '../../../src/time/process-time.js';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Receiver {
  readonly url: string;
  readonly requests: number;
  readonly connections: number;
}
type Answering = (socket: Socket, request: number) => unknown;

/** A receiver that speaks raw bytes; `answering` is called at each request's first bytes. */
async function serve(answering: Answering): Promise<Receiver> {
  const seen = { url: '', requests: 0, connections: 0 };
  const server = createServer((socket) => {
    seen.connections++;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      if (chunk.toString('latin1', 0, 4) === 'POST') answering(socket, ++seen.requests);
    });
    cleanups.push(() => socket.destroy());
  });
  cleanups.push(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  seen.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return seen;
}

function makeClient(): HttpClient {
  const client = createHttpClient({ time: processTime, allowPrivate: true });
  cleanups.push(() => client.close());
  return client;
}

const post = ({ url }: Receiver, body = 'hello'): DeliveryRequest => ({
  url,
  method: 'POST',
  headers: {},
  body: Buffer.from(body),
  timeoutMs: 5_000,
});

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const writes =
  (text: string): Answering =>
  (socket) =>
    socket.write(bytes(text));
const ends =
  (text: string): Answering =>
  (socket) =>
    socket.end(bytes(text));
const resets =
  (text: string): Answering =>
  (socket) =>
    socket.write(bytes(text), () => socket.resetAndDestroy());

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n';
const LENGTH = 'Content-Length: 2\r\n';
const headersOf = (total: number, each: number): string =>
  Array.from({ length: total / each }, (_, i) => `X-${i}: ${'y'.repeat(each)}\r\n`).join('');

/** Name, answer, and status and body as they are read. */
const COMPLETE: readonly (readonly [string, Answering, string])[] = [
  ['204 with a length', writes('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'), '204 '],
  ['204 with a length and FIN', ends('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'), '204 '],
  ['204 with a length and RST', resets('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'), '204 '],
  ['204 with a length and a body', writes('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello'), '204 '],
  ['204 with chunks', writes('HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'), '204 '],
  ['205 with a length', writes('HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\n'), '205 '],
  ['205 without a length', writes('HTTP/1.1 205 Reset Content\r\n\r\n'), '205 '],
  ['304 with a length', writes('HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n'), '304 '],
  ['100 before it', writes(`HTTP/1.1 100 Continue\r\n\r\n${OK}`), '200 ok'],
  ['100 without a reason before it', writes(`HTTP/1.1 100\r\nX-A: b\r\n\r\n${OK}`), '200 ok'],
  ['100 twice before it', writes(`${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)}${OK}`), '200 ok'],
  [
    '100 before 204 with a length',
    writes('HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\n'),
    '204 ',
  ],
  [
    '103, 100 and 102 before it',
    writes(`HTTP/1.1 103 E\r\nLink: a\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\n\r\n${OK}`),
    '200 ok',
  ],
  ['20 kB of headers', writes(`HTTP/1.1 200 OK\r\n${headersOf(20_000, 1_000)}${LENGTH}\r\nok`), '200 ok'],
  ['a header of 60 kB', writes(`HTTP/1.1 200 OK\r\n${headersOf(60_000, 60_000)}${LENGTH}\r\nok`), '200 ok'],
  ['200 kB of headers', writes(`HTTP/1.1 200 OK\r\n${headersOf(200_000, 500)}${LENGTH}\r\nok`), '200 ok'],
  ['trailers', writes(`${CHUNKED}\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n`), '200 ok'],
  ['chunk extensions', writes(`${CHUNKED}\r\n2;a=b;c="d e"\r\nok\r\n0;x\r\n\r\n`), '200 ok'],
  ['chunks and the right length', writes(`${CHUNKED}${LENGTH}\r\n2\r\nok\r\n0\r\n\r\n`), '200 ok'],
  [
    'chunks and a wrong length before',
    writes(`HTTP/1.1 200 OK\r\nContent-Length: 9\r\n${CHUNKED.split('\r\n')[1]}\r\n\r\n2\r\nok\r\n0\r\n\r\n`),
    '200 ok',
  ],
  ['coded chunks', writes('HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'), '200 ok'],
  ['identity and a length', writes(`HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n${LENGTH}\r\nok`), '200 ok'],
  ['identity and FIN', ends('HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nok'), '200 ok'],
  ['no reason phrase', writes(`HTTP/1.1 200\r\n${LENGTH}\r\nok`), '200 ok'],
  ['a reason phrase in Latin-1', writes(`HTTP/1.1 200 D\xe9j\xe0\r\n${LENGTH}\r\nok`), '200 ok'],
  ['lines that end with LF', writes('HTTP/1.1 200 OK\nContent-Length: 2\n\nok'), '200 ok'],
  ['lines that end in both ways', writes('HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nok'), '200 ok'],
  ['LF and FIN', ends('HTTP/1.1 200 OK\nX-A: b\n\nok'), '200 ok'],
  ['a folded header', writes(`HTTP/1.1 200 OK\r\nX-A: 1\r\n  2\r\n${LENGTH}\r\nok`), '200 ok'],
  ['a header folded before its value', writes(`HTTP/1.1 200 OK\r\nX-A:\r\n\t2\r\n${LENGTH}\r\nok`), '200 ok'],
  ['a folded length', writes('HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nok'), '200 ok'],
  ['its length twice', writes(`HTTP/1.1 200 OK\r\n${LENGTH}${LENGTH}\r\nok`), '200 ok'],
  ['its length in a list', writes('HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok'), '200 ok'],
  ['its length in other letters', writes('HTTP/1.1 200 OK\r\ncONTENT-lENGTH: 2\r\n\r\nok'), '200 ok'],
  ['a value in Latin-1', writes(`HTTP/1.1 200 OK\r\nX-A: \xe9\r\n${LENGTH}\r\nok`), '200 ok'],
  ['HTTP/1.0 and FIN', ends('HTTP/1.0 200 OK\r\n\r\nok'), '200 ok'],
  ['HTTP/1.0 and its length', writes(`HTTP/1.0 200 OK\r\n${LENGTH}\r\nok`), '200 ok'],
  ['a later minor version', writes(`HTTP/1.2 200 OK\r\n${LENGTH}\r\nok`), '200 ok'],
  ['no length and FIN', ends('HTTP/1.1 200 OK\r\n\r\nok'), '200 ok'],
  ['a length and Connection: close', writes(`HTTP/1.1 200 OK\r\nConnection: close\r\n${LENGTH}\r\nok`), '200 ok'],
  ['bytes after its body', writes(`${OK}more`), '200 ok'],
  ['RST after its body', resets(OK), '200 ok'],
  [
    'RST after its body and Connection: close',
    resets(`HTTP/1.1 200 OK\r\nConnection: close\r\n${LENGTH}\r\nok`),
    '200 ok',
  ],
];

/** What HTTP calls incomplete or malformed, and what docs/adr/0007 says is refused. */
const REFUSED: readonly (readonly [string, Answering])[] = [
  ['is shorter than its length', ends('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok')],
  [
    'is shorter than its length, after 100',
    ends('HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok'),
  ],
  ['is only announced', ends('HTTP/1.1 100 Continue\r\n\r\n')],
  ['ends in its head', ends('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n')],
  ['ends in its chunks', ends(`${CHUNKED}\r\n2\r\nok\r\n`)],
  ['has two lengths', writes('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok')],
  ['has a control character in a header', writes(`HTTP/1.1 200 OK\r\nX-A: a\x01b\r\n${LENGTH}\r\nok`)],
  ['has a blank before a colon', writes(`HTTP/1.1 200 OK\r\nX-A : b\r\n${LENGTH}\r\nok`)],
  ['changes the protocol', writes('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')],
  ['has a length among its trailers (ADR 7)', writes(`${CHUNKED}\r\n2\r\nok\r\n0\r\nContent-Length: 2\r\n\r\n`)],
  ['has blanks after a chunk size (ADR 7)', writes(`${CHUNKED}\r\n2 ;a\r\nok\r\n0\r\n\r\n`)],
  ['has chunk lines that end with LF (ADR 7)', writes(`${CHUNKED}\r\n2\nok\n0\n\n`)],
];

describe('an answer (issue 11, C)', () => {
  it.each(COMPLETE)('with %s is read, and the request is sent once', async (_name, answering, expected) => {
    const receiver = await serve(answering);
    const result = await makeClient().deliver(post(receiver));
    expect(result.kind === 'response' ? `${result.status} ${result.body.toString('latin1')}` : result).toBe(expected);
    expect(receiver.requests).toBe(1);
  });

  it.each(REFUSED)('that %s is a failure, and the request is sent once', async (_name, answering) => {
    const receiver = await serve(answering);
    const client = makeClient();
    expect((await client.deliver(post(receiver))).kind).toBe('error');
    expect(receiver.requests).toBe(1);
    expect(client.counts.connections).toBe(0);
  });

  it('keeps its headers, folded ones on one line', async () => {
    const receiver = await serve(writes('HTTP/1.1 200 OK\nX-A: 1\n\t 2 \nX-B: \xe9\nX-A: 3\nContent-Length: 2\n\nok'));
    const result = await makeClient().deliver(post(receiver));
    expect(result).toMatchObject({ headers: { 'x-a': ['1 2', '3'], 'x-b': ['\xe9'], 'content-length': ['2'] } });
  });

  it.each([
    ['RST follows it', (socket: Socket) => resets(OK)(socket, 1)],
    ['nothing is read any more', (socket: Socket) => socket.pause().write(OK)],
  ])(
    'that comes before its request was read is the outcome, and its connection is closed, also when %s',
    async (_name, answering) => {
      const receiver = await serve(answering);
      const client = makeClient();
      expect(await client.deliver(post(receiver, 'x'.repeat(20_000_000)))).toMatchObject({ status: 200 });
      await expect.poll(() => client.counts.connections).toBe(0);
      expect(receiver.requests).toBe(1);
    },
  );
});

describe('the connection of an answer (issue 11, C)', () => {
  it.each([
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['100 before it', `HTTP/1.1 100 Continue\r\n\r\n${OK}`],
    ['chunks', `${CHUNKED}\r\n2\r\nok\r\n0\r\n\r\n`],
    ['60 kB of headers', `HTTP/1.1 200 OK\r\n${headersOf(60_000, 1_000)}${LENGTH}\r\nok`],
  ])('with %s serves again', async (_name, answer) => {
    const receiver = await serve(writes(answer));
    const client = makeClient();
    for (let i = 0; i < 3; i++) expect((await client.deliver(post(receiver))).kind).toBe('response');
    expect(receiver).toMatchObject({ requests: 3, connections: 1 });
  });

  it.each([
    ['204 with a length', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'],
    ['205 without a length', 'HTTP/1.1 205 Reset Content\r\n\r\n'],
    ['chunks and a length', `${CHUNKED}${LENGTH}\r\n2\r\nok\r\n0\r\n\r\n`],
    ['its length twice', `HTTP/1.1 200 OK\r\n${LENGTH}${LENGTH}\r\nok`],
    ['lines that end with LF', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['bytes after its body', `${OK}more`],
  ])('with %s is closed: where it ends is in doubt', async (_name, answer) => {
    const receiver = await serve(writes(answer));
    const client = makeClient();
    for (let i = 0; i < 2; i++) expect((await client.deliver(post(receiver))).kind).toBe('response');
    expect(receiver).toMatchObject({ requests: 2, connections: 2 });
    await expect.poll(() => client.counts.connections).toBe(0);
  });

  it('that is lost after 100 (Continue) is not taken for a stale one: the receiver has the request', async () => {
    const receiver = await serve((socket, request) =>
      request === 1 ? socket.write(OK) : socket.end('HTTP/1.1 100 Continue\r\n\r\n'),
    );
    const client = makeClient();
    expect(await client.deliver(post(receiver))).toMatchObject({ status: 200 });
    expect(await client.deliver(post(receiver))).toMatchObject({ kind: 'error' });
    expect(receiver.requests).toBe(2);
  });
});
