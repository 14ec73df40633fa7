/** Starts what the nodes need around them, all at once, and keeps it running: the stores nobody configured, the load balancer. */
import path from 'node:path';
import { lockServerUrls } from '../../src/config.js';
import type { StoreRecord } from './cluster-file.js';
import { startHaproxy } from '../haproxy/haproxy.js';
import { startPostgres, startRedis, type LocalStore } from '../stores/local-stores.js';
import { databaseConnections, type NodeLaunch } from '../nodes/node-settings.js';
import type { LaunchConfig } from './launch-config.js';
import { StartError } from './start-error.js';
import { keepRunning, type KeptStore } from '../nodes/supervision.js';

export interface Dependencies {
  readonly postgres: StoreRecord;
  readonly redis: StoreRecord;
  readonly lockServers: readonly StoreRecord[];
  readonly loadBalancer: { readonly pid: number; readonly port: number; readonly url: string } | null;
}

export interface DependenciesOptions {
  readonly config: LaunchConfig;
  readonly nodes: readonly NodeLaunch[];
  readonly stopping: () => boolean;
  readonly say: (line: string) => void;
  /** Told when one was started again, as another process. */
  readonly onChange: () => void;
  /** Told of each that was started, so that it is stopped whatever happens next. */
  readonly onStarted: (what: 'store' | 'balancer', store: { stop(): Promise<void> }) => void;
}

/** Throws a StartFault with what one of them says if it cannot start; its stack would only hide that. */
export async function startDependencies(options: DependenciesOptions): Promise<Dependencies> {
  const { config: place } = options;
  const settled = await Promise.allSettled([postgres(options), redis(options), balancer(options)]);
  for (const result of settled) {
    if (result.status === 'rejected') throw new StartError((result.reason as Error).message);
  }
  const [database, queue, loadBalancer] = settled.map((result) =>
    result.status === 'fulfilled' ? result.value : null,
  );
  return {
    postgres: storeRecord(database ?? null, place.config.CARILLON_DATABASE_URL),
    redis: storeRecord(queue ?? null, place.config.CARILLON_REDIS_URL),
    lockServers: lockServerUrls(place.config).map((url) => ({ url, pid: null })),
    loadBalancer: loadBalancer ?? null,
  };
}

/** Its pid is looked up when it is asked for: the store may have been started again. */
function storeRecord(store: KeptStore | null, configuredUrl: string): StoreRecord {
  if (store === null) return { url: configuredUrl, pid: null };
  return {
    url: store.url,
    get pid() {
      return store.pid;
    },
  };
}

async function postgres(options: DependenciesOptions): Promise<KeptStore | null> {
  const { config, home } = options.config;
  if (config.CARILLON_DATABASE_URL !== '') return null;
  const connections = databaseConnections(options.config);
  const start = (port?: number): Promise<LocalStore> =>
    startPostgres({
      port,
      dataDir: path.join(home, 'postgres'),
      log: path.join(home, 'logs', 'postgres.log'),
      settings: { max_connections: String(connections) },
    });
  return await kept(options, 'PostgreSQL', async (port) => {
    const store = await start(port);
    if (!store.adopted) return store;
    // It may have been started for fewer nodes.
    await store.stop();
    return await start(port);
  });
}

async function redis(options: DependenciesOptions): Promise<KeptStore | null> {
  const { config, home } = options.config;
  if (config.CARILLON_REDIS_URL !== '') return null;
  return await kept(options, 'Redis', (port) =>
    startRedis({
      port,
      dataDir: path.join(home, 'redis'),
      log: path.join(home, 'logs', 'redis.log'),
      say: options.say,
    }),
  );
}

async function balancer(options: DependenciesOptions): Promise<KeptStore | null> {
  const { config, single, home, host, port } = options.config;
  if (single) return null;
  return await kept(options, 'HAProxy', () =>
    startHaproxy({
      dir: path.join(home, 'haproxy'),
      host,
      port,
      nodes: options.nodes,
      headersMaxBytes: config.CARILLON_HEADERS_MAX_BYTES + config.CARILLON_URL_MAX_BYTES + OTHER_HEADERS_BYTES,
      log: path.join(home, 'logs', 'haproxy.log'),
      say: options.say,
    }),
  );
}

/** As much as a node allows beside the forwarded headers and the target, and a little more. */
const OTHER_HEADERS_BYTES = 20 * 1_024;

async function kept(
  { say, stopping, onChange, onStarted }: DependenciesOptions,
  name: string,
  start: (port?: number) => Promise<LocalStore>,
): Promise<KeptStore> {
  say(`Starting ${name}`);
  const store = await keepRunning(name, start, stopping, say, onChange);
  onStarted(name === 'HAProxy' ? 'balancer' : 'store', store);
  return store;
}
