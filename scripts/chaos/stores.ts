/** Stores of the run's own, in its own folder: they may be stopped, killed, emptied and started again. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { Redis } from 'ioredis';
import { startPostgres, startRedis, type LocalStore } from '../../cluster/stores/local-stores.js';
import { identify, signal, untilGone } from '../../cluster/system/processes.js';
import { stablePort } from '../../cluster/system/stable-port.js';
import type { StoreUrls } from './paths.js';

const LOCK_SERVERS = 3;
const KILL_TIMEOUT_MS = 5_000;

/** One server that may be broken; its url stays the same. */
export class BreakableStore {
  readonly #start: () => Promise<LocalStore>;
  #current: LocalStore;

  private constructor(start: () => Promise<LocalStore>, current: LocalStore) {
    this.#start = start;
    this.#current = current;
  }

  static async start(start: () => Promise<LocalStore>): Promise<BreakableStore> {
    return new BreakableStore(start, await start());
  }

  get url(): string {
    return this.#current.url;
  }

  get pid(): number {
    return this.#current.pid;
  }

  /** Ends it: killed when `hard`, else stopped in order. */
  async end(hard: boolean): Promise<void> {
    const identity = identify(this.#current.pid);
    if (identity === undefined) return;
    if (!hard) {
      await this.#current.stop();
      return;
    }
    signal(identity, 'SIGKILL');
    if (!(await untilGone(identity, KILL_TIMEOUT_MS))) throw new Error(`process ${identity.pid} outlived kill -9`);
  }

  /** Starts it again if it does not run. */
  async revive(): Promise<void> {
    if (identify(this.#current.pid) === undefined) this.#current = await this.#start();
  }

  async stop(): Promise<void> {
    await this.#current.stop();
  }
}

export interface Stores {
  readonly postgres: BreakableStore;
  readonly redis: BreakableStore;
  readonly locks: readonly BreakableStore[];
  readonly urls: StoreUrls;
  flushRedis(): Promise<void>;
  /** Of the servers that run now. */
  pids(): number[];
  stop(): Promise<void>;
}

/** Starts PostgreSQL, the data Redis (which keeps every write) and three lock servers (which keep nothing), all below `folder`. */
export async function startStores(folder: string, say: (line: string) => void): Promise<Stores> {
  const below = (name: string): string => {
    const dataDir = path.join(folder, name);
    mkdirSync(dataDir, { mode: 0o711 });
    return dataDir;
  };
  const redisAt = async (name: string, appendonly: boolean): Promise<BreakableStore> => {
    const options = { dataDir: below(name), port: await stablePort(), appendonly, say };
    return await BreakableStore.start(() => startRedis(options));
  };
  const postgresAt = { dataDir: below('postgres'), port: await stablePort() };
  // One after the other: the first may have to install what the others use as well.
  const redis = await redisAt('redis', true);
  const [postgres, ...locks] = await Promise.all([
    BreakableStore.start(() => startPostgres(postgresAt)),
    ...Array.from({ length: LOCK_SERVERS }, (_, index) => redisAt(`lock-${index + 1}`, false)),
  ]);
  return {
    postgres,
    redis,
    locks,
    urls: { postgres: postgres.url, redis: redis.url, locks: locks.map(({ url }) => url) },
    flushRedis: async () => {
      const client = new Redis(redis.url, { maxRetriesPerRequest: 0 });
      try {
        await client.flushall('SYNC');
      } finally {
        client.disconnect();
      }
    },
    pids: () => [postgres, redis, ...locks].map(({ pid }) => pid),
    stop: async () => {
      await Promise.all([postgres, redis, ...locks].map((store) => store.stop()));
    },
  };
}
