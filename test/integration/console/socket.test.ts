// The admin websocket of a real node: who is let in, what is shown, and that whatever a client does wrong ends that client alone.

import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CLOSE } from '../../../src/admin/protocol.js';
import { AdminClient, type AdminClientOptions, type Closed } from '../../kit/admin-client.js';
import { startTestNode, TEST_ADMIN_TOKEN, TEST_SHARDS, TEST_TOKEN, type TestNode } from '../../kit/node.js';
import { publish, untilState } from '../../kit/work.js';

let node: TestNode;
const clients: AdminClient[] = [];
beforeAll(async () => {
  node = await startTestNode({ CARILLON_ADMIN_HELLO_MS: 1_000, CARILLON_ADMIN_ORIGINS: 'https://Console.example' });
});
afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));
afterAll(() => node.stop());

function open(options: AdminClientOptions = {}): AdminClient {
  const client = new AdminClient(node.url, options);
  clients.push(client);
  return client;
}

const admin = { token: TEST_ADMIN_TOKEN };
const inHeader = (token: string): AdminClientOptions => ({ headers: { authorization: `Bearer ${token}` } });

describe('the picture', () => {
  it('has the node, every shard with its owner and epoch, and the stores, within a second', async () => {
    const startedAtMs = performance.now();
    const client = open(admin);
    const picture = await client.until('a snapshot', () => true);
    expect(performance.now() - startedAtMs).toBeLessThan(1_000);
    const [own] = picture.nodes;
    expect(picture.nodes).toHaveLength(1);
    expect(own).toMatchObject({ name: 'node-1', state: 'active', shards: TEST_SHARDS });
    expect(own?.id).toBe(picture.cluster.servedBy);
    expect(picture.shards.map(({ shard }) => shard)).toEqual(Array.from({ length: TEST_SHARDS }, (_, shard) => shard));
    expect(new Set(picture.shards.map(({ owner }) => owner))).toEqual(new Set([own?.id]));
    expect(new Set(picture.shards.map(({ state }) => state))).toEqual(new Set(['owned']));
    expect(picture.stores).toMatchObject({ table: { isUp: true }, queue: { isUp: true } });
    await client.until('epochs, figures and round trips', ({ shards, nodes, stores }) => {
      return shards.every(({ epoch }) => epoch > 0) && nodes[0]?.load != null && stores.table.roundTripMs !== null;
    });
  });

  it('has what happened before anybody looked', async () => {
    const { events, cluster } = await open(admin).until('the taking of shards', ({ events: all }) =>
      all.some(({ kind }) => kind === 'moved'),
    );
    expect(events).toContainEqual(expect.objectContaining({ kind: 'joined', name: 'node-1' }));
    const taken = events.flatMap((event) => (event.kind === 'moved' ? event.shards : []));
    expect(new Set(taken).size).toBe(TEST_SHARDS);
    expect(events.find(({ kind }) => kind === 'moved')).toMatchObject({ from: null, to: cluster.servedBy });
  });

  it('shows deliveries as they are made, with their lag, in deltas of which none is missing', async () => {
    const client = open(admin);
    await client.until('a snapshot', () => true);
    await untilState(node, await publish(node, '/shown'), 'delivered');
    const { history } = await client.until('a delivery', (picture) => picture.history.some((one) => one.delivered > 0));
    const second = history.find(({ delivered }) => delivered > 0);
    expect(second).toMatchObject({ failed: 0, retried: 0 });
    expect(history.some(({ lagP99Ms }) => lagP99Ms !== null)).toBe(true);
    await client.until('an accept', (picture) => picture.history.some((one) => one.accepted > 0));
    await client.until('three seconds of it', (picture) => picture.history.length >= 3);
    expect(client.gaps).toBe(0);
  });

  it('shows what waits in a shard, and what is due there and not claimed', async () => {
    const client = open(admin);
    await client.until('empty shards', ({ levels }) => levels.queued.every((count) => count === 0));
    await publish(node, '/later', { headers: { 'Upstash-Delay': '1h' } });
    const { levels } = await client.until('one entry', (picture) => picture.levels.queued.some((count) => count > 0));
    expect(levels.queued.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(levels.due.every((count) => count === 0)).toBe(true);
  });

  it('is sent whole again to whoever asks for it', async () => {
    const client = open(inHeader(TEST_ADMIN_TOKEN));
    await client.until('a snapshot', () => true);
    client.say({ type: 'resync' });
    const isSnapshot = ({ type }: { type: string }): boolean => type === 'snapshot';
    await client.until('another one', () => client.messages.filter(isSnapshot).length === 2);
    await client.until('more', () => client.messages.at(-1)?.type === 'delta');
    expect(client.gaps).toBe(0);
  });
});

describe('whoever is not an administrator', () => {
  const closedWith = async (options: AdminClientOptions): Promise<Closed> => open(options).closed;

  it('gets nothing but a reason', async () => {
    expect(await closedWith({ token: 'nobody-has-this-token' })).toMatchObject({ code: CLOSE.unauthorized });
    expect(await closedWith({ token: TEST_TOKEN })).toMatchObject({ code: CLOSE.forbidden });
    expect(await closedWith({ token: '' })).toEqual({ code: CLOSE.badMessage, reason: 'hello without a token' });
    const silent = open();
    expect(await silent.closed).toMatchObject({ code: CLOSE.helloTimeout });
    expect(clients.flatMap(({ messages }) => messages)).toEqual([]);
  });

  it('is refused before the upgrade where the token comes with it', async () => {
    expect(await closedWith(inHeader('nobody-has-this-token'))).toMatchObject({ code: 401 });
    expect(await closedWith(inHeader(TEST_TOKEN))).toMatchObject({ code: 403 });
  });

  it('gets no socket from a page of another origin, unless it is listed', async () => {
    const from = (origin: string): AdminClientOptions => ({ ...admin, headers: { origin } });
    expect(await closedWith(from('https://elsewhere.example'))).toMatchObject({ code: 403 });
    expect(await closedWith(from('null'))).toMatchObject({ code: 403 });
    await open(from(node.url)).until('a snapshot', () => true);
    await open(from('https://console.example')).until('a snapshot', () => true);
  });
});

describe('bad input', () => {
  it('closes its socket and no other', async () => {
    const other = open(admin);
    await other.until('a snapshot', () => true);
    const cases = [
      ['binary', Buffer.from([1, 2, 3]), 1003],
      ['too long', JSON.stringify({ type: 'hello', token: 'x'.repeat(20_000) }), 1009],
      ['no JSON', '{"type":', CLOSE.badMessage],
      ['no object', '[]', CLOSE.badMessage],
      ['an unknown type', '{"type":"drop table"}', CLOSE.badMessage],
      ['a token that is no text', '{"type":"hello","token":{}}', CLOSE.badMessage],
      ['a second hello', JSON.stringify({ type: 'hello', token: TEST_ADMIN_TOKEN }), CLOSE.badMessage],
    ] as const;
    await Promise.all(
      cases.map(async ([what, message, code]) => {
        const bad = open(inHeader(TEST_ADMIN_TOKEN));
        await bad.until('a snapshot', () => true);
        bad.say(message);
        expect((await bad.closed).code, what).toBe(code);
      }),
    );
    const { seq } = other.messages.at(-1)!;
    await other.until('it goes on for others', () => other.messages.at(-1)!.seq > seq);
    expect(other.gaps).toBe(0);
  });

  it('closes its socket: a resync before the hello, a flood of messages, a flood of pings', async () => {
    const early = open();
    await early.opened();
    early.say({ type: 'resync' });
    expect(await early.closed).toMatchObject({ code: CLOSE.badMessage });
    const flood = open(admin);
    await flood.until('a snapshot', () => true);
    for (let index = 0; index < 5_000; index += 1) flood.say({ type: 'resync' });
    expect(await flood.closed).toMatchObject({ code: CLOSE.flood });
    expect(flood.messages.length).toBeLessThan(100);
    const pings = open(admin);
    await pings.until('a snapshot', () => true);
    for (let index = 0; index < 100; index += 1) pings.socket.ping();
    expect(await pings.closed).toMatchObject({ code: CLOSE.flood });
    expect((await node.call('GET', '/readyz')).status).toBe(200);
  });

  it('that is no websocket at all does no harm', async () => {
    const raw = await rawSocket();
    raw.write('GET /admin/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const answer = await new Promise<string>((resolve) => raw.once('data', (data: Buffer) => resolve(data.toString())));
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    raw.destroy();
    const broken = open(admin);
    await broken.until('a snapshot', () => true);
    // A frame with reserved bits.
    (broken.socket as unknown as { _socket: Socket })._socket.write(Buffer.from([0xff, 0xff, 0, 0]));
    expect(await broken.closed).toMatchObject({ code: 1002 });
  });
});

describe('other requests that ask for an upgrade', () => {
  it('are answered as if they had not, with their bodies', async () => {
    const raw = await rawSocket();
    let answers = '';
    raw.on('data', (data: Buffer) => (answers += data.toString()));
    const body = '{"cron": "0 0 * * *"}';
    const request = (connection: string): string =>
      `POST /v2/cron/preview HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TEST_TOKEN}\r\n${connection}Content-Length: ${body.length}\r\n\r\n${body}`;
    // As Java's client sends its first request; the next one of the connection is an ordinary one.
    raw.write(request('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n'));
    await expect.poll(() => answers.match(/HTTP\/1.1 200 OK/g)?.length).toBe(1);
    raw.write(request(''));
    await expect.poll(() => answers.match(/HTTP\/1.1 200 OK/g)?.length).toBe(2);
    expect(answers.match(/"dayRule"/g)).toHaveLength(2);
    raw.destroy();
  });
});

async function rawSocket(): Promise<Socket> {
  const { hostname, port } = new URL(node.url);
  const socket = connect(Number(port), hostname);
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}
