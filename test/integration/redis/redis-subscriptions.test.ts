// Issue 12, 11: a connection for subscriptions that breaks again and again ends no process, and hears again when it is back.

import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Channels } from '../../../src/redis/channels.js';
import { createRedis, createSubscriber, openRedis } from '../../../src/redis/connect.js';
import { Subscriptions } from '../../../src/redis/subscriptions.js';
import { freshRedis, ownRedis, type OwnStore } from '../../kit/stores.js';
import { processTime } from '../../../src/time/process-time.js';

const TIMEOUT_MS = 300;

/** Leads to Redis, and resets a connection (or swallows what it sends) when it tries to subscribe, as often as asked. */
class SubscribePath {
  readonly #server: Server;
  #left = 0;
  #how: 'reset' | 'swallow' = 'reset';
  #onDone: () => void = () => undefined;

  constructor(target: URL) {
    this.#server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname);
      const end = (socket: Socket) => () => socket.destroy();
      client.on('error', end(upstream)).on('close', end(upstream));
      upstream.on('error', end(client)).on('close', end(client)).pipe(client);
      client.on('data', (bytes) => {
        if (this.#left === 0 || !/\bsubscribe\r\n/i.test(bytes.toString('latin1'))) {
          upstream.write(bytes);
          return;
        }
        this.#left -= 1;
        if (this.#how === 'reset') client.resetAndDestroy();
        if (this.#left === 0) this.#onDone();
      });
    });
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves when so many subscriptions have failed. */
  fail(times: number, how: 'reset' | 'swallow'): Promise<void> {
    this.#left = times;
    this.#how = how;
    return new Promise((resolve) => (this.#onDone = resolve));
  }

  close(): void {
    this.#server.close();
  }
}

let store: OwnStore;
beforeAll(async () => {
  store = await ownRedis();
});
afterAll(() => store.stop());

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

let path: SubscribePath;
let publisher: Redis;
let subscriber: Redis;
beforeEach(async () => {
  const url = new URL(store.url);
  path = new SubscribePath(url);
  const port = await path.listen();
  publisher = createRedis({ url: store.url, timeoutMs: TIMEOUT_MS, onTrouble: () => undefined }) as Redis;
  const through = Object.assign(new URL(store.url), { port: String(port) }).href;
  subscriber = createSubscriber({ url: through, timeoutMs: TIMEOUT_MS, onTrouble: () => undefined });
  await Promise.all([openRedis(publisher, 5_000, processTime), openRedis(subscriber, 5_000, processTime)]);
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(() => {
  process.removeListener('unhandledRejection', note);
  publisher.disconnect();
  subscriber.disconnect();
  path.close();
});

describe.each(['reset', 'swallow'] as const)('a subscription whose renewals fail (%s)', (how) => {
  it('rejects nothing that nobody handles, and hears again after the renewal that succeeds', async () => {
    const channels = new Channels(publisher, new Subscriptions(subscriber), freshRedis().prefix);
    const woken: (() => void)[] = [];
    const renewed: (() => void)[] = [];
    await channels.listen({
      onWake: () => woken.splice(0).forEach((call) => call()),
      onFree: () => undefined,
      onDrain: () => undefined,
      onGap: () => renewed.splice(0).forEach((call) => call()),
    });
    await channels.subscribe([3]);
    const back = new Promise<void>((resolve) => renewed.push(resolve));
    const failed = path.fail(how === 'reset' ? 5 : 2, how);

    await publisher.call('client', 'kill', 'type', 'pubsub');
    await failed;
    await back;

    const heard = new Promise<void>((resolve) => woken.push(resolve));
    channels.wake(3, 1);
    await heard;
    expect(unhandled).toEqual([]);
  });
});
