/** Runs a Redis Cluster of three masters, with a replica for each where wanted, whose servers a test may kill and freeze. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { writeAccess } from '../../cluster/launcher/access-file.js';
import { startRedis, type LocalStore } from '../../cluster/stores/local-stores.js';
import { stablePort } from './stable-port.js';

export interface ClusterServer {
  readonly port: number;
  /** Of this server alone, for looking into it. */
  readonly url: string;
  readonly pid: number;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface RedisCluster {
  /** Names all masters. */
  readonly url: string;
  readonly masters: readonly ClusterServer[];
  /** Of each master, in the same order; empty when none were asked for. */
  readonly replicas: readonly ClusterServer[];
  /** Stops all servers; their data stays. */
  stop(): Promise<void>;
}

export interface RedisClusterOptions {
  /** Holds a folder for each server. */
  readonly dir: string;
  readonly replicas?: boolean;
  /** After how long a master that is silent is replaced by its replica. */
  readonly nodeTimeoutMs?: number;
  /** Whether the other masters refuse everything while one is unavailable, which is Redis's default. */
  readonly fullCoverage?: boolean;
  readonly say?: (line: string) => void;
}

const MASTERS = 3;
const SLOTS = 16_384;
const FORM_TIMEOUT_MS = 30_000;
const POLL_MS = 25;

export async function startRedisCluster(options: RedisClusterOptions): Promise<RedisCluster> {
  const password = randomBytes(24).toString('base64url');
  const count = options.replicas === true ? 2 * MASTERS : MASTERS;
  const servers: Server[] = [];
  // One after the other picks its ports: two that look at the same moment could find the same one.
  for (let index = 0; index < count; index += 1) {
    servers.push(new Server(options, index, password, await stablePort(), await stablePort()));
  }
  await Promise.all(servers.map((server) => server.start()));
  await form(servers);
  const masters = servers.slice(0, MASTERS);
  return {
    url: `redis+cluster://:${password}@${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    masters,
    replicas: servers.slice(MASTERS),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

class Server implements ClusterServer {
  #store: LocalStore | null = null;
  readonly #options: RedisClusterOptions;
  readonly #dataDir: string;
  readonly #password: string;

  constructor(
    options: RedisClusterOptions,
    index: number,
    password: string,
    readonly port: number,
    readonly busPort: number,
  ) {
    this.#options = options;
    this.#dataDir = path.join(options.dir, `redis-${index}`);
    this.#password = password;
    mkdirSync(this.#dataDir, { recursive: true, mode: 0o700 });
    writeAccess(this.#dataDir, { port, password });
  }

  get url(): string {
    return `redis://:${this.#password}@127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#store?.pid ?? -1;
  }

  async start(): Promise<void> {
    this.#store = await startRedis({
      dataDir: this.#dataDir,
      port: this.port,
      settings: {
        'cluster-enabled': 'yes',
        'cluster-port': String(this.busPort),
        'cluster-node-timeout': String(this.#options.nodeTimeoutMs ?? 5_000),
        'cluster-require-full-coverage': this.#options.fullCoverage === false ? 'no' : 'yes',
        masterauth: this.#password,
        'repl-diskless-sync-delay': '0',
      },
      ...(this.#options.say === undefined ? {} : { say: this.#options.say }),
    });
  }

  async stop(): Promise<void> {
    await this.#store?.stop();
  }
}

/** Gives each master its slots, makes all known to each other, and waits until all of them say that the cluster is whole. */
async function form(servers: readonly Server[]): Promise<void> {
  const clients = servers.map((server) => new Redis(server.url));
  try {
    await Promise.all(
      clients.slice(0, MASTERS).map(async (client, index) => {
        const first = Math.ceil((index * SLOTS) / MASTERS);
        const last = Math.ceil(((index + 1) * SLOTS) / MASTERS) - 1;
        await client.call('cluster', 'set-config-epoch', String(index + 1));
        await client.call('cluster', 'addslotsrange', String(first), String(last));
      }),
    );
    const meets = servers.slice(1).map(({ port, busPort }) => [String(port), String(busPort)] as const);
    for (const [port, busPort] of meets) await clients[0]?.call('cluster', 'meet', '127.0.0.1', port, busPort);
    await untilTrue(async () => (await knownNodes(clients)).every((known) => known === servers.length));
    const ids = await Promise.all(clients.map(async (client) => String(await client.call('cluster', 'myid'))));
    await Promise.all(
      clients.slice(MASTERS).map((client, index) => client.call('cluster', 'replicate', ids[index] ?? '')),
    );
    await untilTrue(async () => (await Promise.all(clients.map(isWhole))).every(Boolean));
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function knownNodes(clients: readonly Redis[]): Promise<number[]> {
  return Promise.all(
    clients.map(async (client) => {
      const nodes = String(await client.call('cluster', 'nodes'));
      return nodes.split('\n').filter((line) => line !== '' && !line.includes('handshake')).length;
    }),
  );
}

async function isWhole(client: Redis): Promise<boolean> {
  if (!String(await client.call('cluster', 'info')).includes('cluster_state:ok')) return false;
  const replication = await client.info('replication');
  return !replication.includes('role:slave') || replication.includes('master_link_status:up');
}

async function untilTrue(look: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + FORM_TIMEOUT_MS;
  while (!(await look())) {
    if (performance.now() > deadlineMs) throw new Error('the Redis Cluster did not form');
    await delay(POLL_MS);
  }
}
