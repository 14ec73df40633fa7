/** The cluster under test: nodes behind a load balancer, each with its own paths to stores that may be broken. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { startHaproxy } from '../../cluster/haproxy/haproxy.js';
import { identify } from '../../cluster/system/processes.js';
import type { LocalStore } from '../../cluster/stores/local-stores.js';
import { stablePort } from '../../cluster/system/stable-port.js';
import { ChaosNode } from './node.js';
import { nodeEnvironment, type ClusterTimes } from './node-settings.js';
import { startPaths, type Paths } from './paths.js';
import { startReceiver, type Receiver } from './receiver.js';
import { startStores, type Stores } from './stores.js';

export interface ChaosCluster {
  /** The load balancer's. */
  readonly url: string;
  readonly nodes: readonly ChaosNode[];
  readonly paths: Paths;
  readonly stores: Stores;
  readonly receiver: Receiver;
  readonly stop: () => Promise<void>;
}

export interface ClusterOptions {
  readonly folder: string;
  readonly nodes: number;
  readonly shards: number;
  readonly times: ClusterTimes;
  readonly say: (line: string) => void;
}

/** Starts everything; what was started is stopped again when something fails. */
export async function startCluster(options: ClusterOptions): Promise<ChaosCluster> {
  const { folder, say } = options;
  const logs = path.join(folder, 'logs');
  mkdirSync(logs);
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  const running = <Part extends { stop(): Promise<unknown> }>(part: Part): Part => {
    stops.push(() => part.stop());
    return part;
  };
  try {
    const receiver = running(await startReceiver());
    const paths = running(await startPaths());
    say('Starting PostgreSQL, Redis and three lock servers');
    const stores = running(await startStores(folder, say));
    const pids: number[] = [];
    const onSpawn = (pid: number): void => {
      pids.push(pid);
      void receiver.watch(pids).catch(() => undefined);
      const all = [...pids, ...stores.pids(), ...balancers.map((balancer) => balancer.pid)];
      void paths.ward(all.flatMap((one) => identify(one) ?? [])).catch(() => undefined);
    };
    const balancers: LocalStore[] = [];
    const nodes: ChaosNode[] = [];
    for (let number = 1; number <= options.nodes; number++) {
      const place = { name: `node-${number}`, port: await stablePort(), shards: options.shards, home: folder };
      const environment = nodeEnvironment(place, await paths.lay(place.name, stores.urls), options.times);
      nodes.push(new ChaosNode({ ...place, environment, logs, onSpawn }));
    }
    stops.push(() => Promise.all(nodes.map((node) => node.kill9())));
    say(`Starting ${options.nodes === 1 ? 'one node' : `${options.nodes} nodes`} behind HAProxy`);
    const balancer = running(
      await startHaproxy({
        dir: path.join(folder, 'haproxy'),
        port: await stablePort(),
        nodes: nodes.map(({ name, port }) => ({ name, port })),
        log: path.join(logs, 'haproxy.log'),
        say,
      }),
    );
    balancers.push(balancer);
    // The first one makes the tables; the others find them.
    await nodes[0]?.start();
    await Promise.all(nodes.slice(1).map((node) => node.start()));
    return { url: balancer.url, nodes, paths, stores, receiver, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
