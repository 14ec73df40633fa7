// The admin websocket shows the whole cluster from any node: who comes and goes, and each shard on its way. A slow client holds up nobody.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import type { Viewer } from '../../../src/admin/cluster-watch.js';
import { CLOSE, type ClusterEvent, type Picture } from '../../../src/admin/protocol.js';
import { AdminSocketServer } from '../../../src/admin/socket-server.js';
import { startNode, type Node } from '../../../src/compose.js';
import { configWith } from '../../../src/config.js';
import { AdminClient } from '../../kit/admin-client.js';
import { startTestNode, TEST_ADMIN_TOKEN, TEST_SHARDS } from '../../kit/node.js';
import { processTime } from '../../../src/time/process-time.js';

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

function watcher(url: string): AdminClient {
  const client = new AdminClient(url, { token: TEST_ADMIN_TOKEN });
  ended.push(() => client.close());
  return client;
}

const kinds = ({ events }: Picture): ClusterEvent['kind'][] => events.map(({ kind }) => kind);
const sharesOf = ({ nodes }: Picture): Record<string, number> =>
  Object.fromEntries(nodes.map(({ name, shards }) => [name, shards]));

describe('a cluster', () => {
  it('is shown by any node: a node joins, takes its shards, and leaves again, each shard on its way', async () => {
    const first = await startTestNode({ CARILLON_JOIN_GRACE_MS: 100, CARILLON_NODE_NAME: 'first' });
    ended.push(() => first.stop());
    const before = watcher(first.url);
    await before.until('one node', ({ nodes }) => nodes.length === 1);
    const second: Node = await startNode(
      configWith({ ...first.config, CARILLON_NODE_NAME: 'second' }),
      pino({ level: 'silent' }),
    );
    ended.push(() => second.stop());
    const shared = (picture: Picture): boolean => {
      const shares = sharesOf(picture);
      return shares.first === TEST_SHARDS / 2 && shares.second === TEST_SHARDS / 2;
    };
    const old = new Map((await before.until('all epochs', allEpochs)).shards.map(({ shard, epoch }) => [shard, epoch]));
    const picture = await before.until('shared shards, with figures', (now) => {
      return shared(now) && now.nodes.every(({ load, state }) => load !== null && state === 'active');
    });
    const moved = picture.events.flatMap((event) => (event.kind === 'moved' && event.from !== null ? [event] : []));
    const secondId = picture.nodes.find(({ name }) => name === 'second')!.id;
    expect(moved.every(({ to }) => to === secondId)).toBe(true);
    expect(kinds(picture)).toContain('given');
    const raised = await before.until('higher epochs', ({ shards }) =>
      shards.every(({ shard, owner, epoch }) => owner !== secondId || epoch > (old.get(shard) ?? Infinity)),
    );
    expect(raised.shards.filter(({ owner }) => owner === secondId)).toHaveLength(TEST_SHARDS / 2);

    const other = watcher(second.url);
    const same = await other.until('the same cluster', (now) => shared(now) && allEpochs(now));
    expect(same.shards).toEqual(raised.shards);
    expect(same.events.some((event) => event.kind === 'joined' && event.name === 'second')).toBe(true);

    await second.stop();
    expect(await other.closed).toMatchObject({ code: 1001 });
    const after = await before.until('one node again', (now) => sharesOf(now).first === TEST_SHARDS);
    await before.until('its leave', (now) => kinds(now).includes('left'));
    expect(kinds(after)).not.toContain('lapsed');
    const states = before.messages.flatMap((message) => (message.type === 'delta' ? (message.shards ?? []) : []));
    expect(states.map(({ state }) => state)).toContain('moving');
    expect(before.gaps).toBe(0);
  });
});

const allEpochs = ({ shards }: Picture): boolean => shards.every(({ epoch }) => epoch > 0);

describe('a client that does not read', () => {
  it('is closed when too much waits for it, and nobody else notices', async () => {
    const viewers = new Set<Viewer>();
    const { url } = await sockets(viewers);
    const slow = watcher(url);
    await expect.poll(() => viewers.size).toBe(1);
    slow.socket.pause();
    const quick = watcher(url);
    await expect.poll(() => viewers.size).toBe(2);
    const megabyte = Buffer.from(JSON.stringify({ type: 'delta', seq: 0, atMs: 0, filling: 'x'.repeat(1_000_000) }));
    let sent = 0;
    while (viewers.size === 2 && sent < 100) {
      for (const viewer of viewers) viewer.send(megabyte);
      sent += 1;
      await expect.poll(() => quick.messages.length).toBe(sent);
    }
    expect(viewers.size).toBe(1);
    // The kernel's buffers on both sides are beyond anybody's bound.
    expect(sent).toBeLessThan(40);
    slow.socket.resume();
    expect([CLOSE.tooSlow, 1006]).toContain((await slow.closed).code);
    quick.say({ type: 'resync' });
    await expect.poll(() => quick.messages.length).toBe(sent + 1);
  });

  it('finds no place where there are as many sockets as there may be', async () => {
    const { url } = await sockets(new Set(), 1);
    const first = watcher(url);
    await first.opened();
    expect(await watcher(url).closed).toMatchObject({ code: 1013 });
    expect(first.socket.readyState).toBe(first.socket.OPEN);
  });
});

/** The socket server with viewers that a test talks to itself. */
async function sockets(viewers: Set<Viewer>, socketsMax = 10): Promise<{ url: string }> {
  const server: Server = createServer();
  const answer = Buffer.from('{"type":"delta","seq":0,"atMs":0}');
  const admin = new AdminSocketServer({
    watch: {
      join: (viewer) => Promise.resolve(void viewers.add(viewer)),
      leave: (viewer) => void viewers.delete(viewer),
      resync: (viewer) => viewer.send(answer),
    },
    checkToken: () => Promise.resolve('admin'),
    bearerToken: () => null,
    origins: [],
    socketsMax,
    anonymous: { max: 10, perNetworkMax: 10 },
    addressOf: () => null,
    helloMs: 5_000,
    recheckMs: 60_000,
    queueBytes: 1_048_576,
    time: processTime,
  });
  admin.attach(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ended.push(async () => {
    await admin.stop();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
