/** What `npm start` runs: the stores that are not configured, the nodes, a load balancer before them, and an orderly end to all. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { printable } from '../../src/domain/printable.js';
import { announce } from './banner.js';
import { removeClusterFile, writeClusterFile } from './cluster-file.js';
import { serveControl, type Control } from './control.js';
import { configuredCredentials, localCredentials, type Credentials } from './credentials.js';
import { stopLeftHaproxy } from '../haproxy/haproxy.js';
import { heapArguments } from '../nodes/heap-limit.js';
import { LocalNodes } from '../nodes/local-nodes.js';
import { nodeCommand, untilReady } from '../nodes/node-process.js';
import { nodeEnvironment, planNodes } from '../nodes/node-settings.js';
import type { Account } from '../stores/postgres-account.js';
import { claimHome, readLaunchConfig, requireFreeAddress, type LaunchConfig } from './launch-config.js';
import { freePort, isFree } from '../system/ports.js';
import { writePrivate } from '../system/private-file.js';
import type { RunClaim } from './run-file.js';
import { endProcess } from '../system/server-process.js';
import { readArguments } from './start-arguments.js';
import { StartError } from './start-error.js';
import { listenForStop, type StopSignals } from '../system/stop-signals.js';
import { unprivilegedAccount } from '../system/unprivileged.js';
import { startDependencies } from './dependencies.js';

/** Time a stopping node gets beyond its drain limit. */
const NODE_STOP_MARGIN_MS = 10_000;

/** What is running and must be stopped. */
interface Running {
  readonly stores: { stop(): Promise<void> }[];
  balancer?: { stop(): Promise<void> };
  nodes?: LocalNodes;
  control?: Control;
}

/** Runs until it is told to stop. Returns the exit code: 0 after an orderly stop, 1 if something failed. */
export async function start(argv: readonly string[]): Promise<number> {
  const signals = listenForStop();
  const running: Running = { stores: [] };
  let config: LaunchConfig | undefined;
  let claim: RunClaim | undefined;
  let code = 0;
  try {
    config = readLaunchConfig(readArguments(argv));
    claim = claimHome(config);
    await run(config, claim, running, signals);
  } catch (error) {
    code = 1;
    if (!signals.stopping()) console.error(error instanceof StartError ? `\n${printable(error.message)}\n` : error);
  }
  try {
    if (config !== undefined && claim !== undefined) await stopAll(config, running, signals);
  } catch (error) {
    code = 1;
    console.error(error);
  }
  claim?.release();
  signals.release();
  return code;
}

async function run(config: LaunchConfig, claim: RunClaim, running: Running, signals: StopSignals): Promise<void> {
  const files = filesOf(config);
  files.remove();
  await stopWhatIsLeft(config, claim);
  await requireFreeAddress(config);
  const places = await planNodes(config);
  const credentials = { ...localCredentials(config.home), ...configuredCredentials(config.config) };
  // What runs is known whole only after its start, and told again whenever a part of it changes.
  let tell = (): void => undefined;
  const dependencies = await startDependencies({
    config,
    nodes: places,
    say,
    stopping: () => signals.stopping(),
    onChange: () => tell(),
    onStarted: (what, started) => {
      if (what === 'balancer') running.balancer = started;
      else running.stores.push(started);
    },
  });
  if (signals.stopping()) return;
  const shared = { config, credentials, databaseUrl: dependencies.postgres.url, redisUrl: dependencies.redis.url };
  const nodes = new LocalNodes({
    places,
    environmentOf: (node) => nodeEnvironment(shared, node),
    command: nodeCommand(accountOfNodes(config), heapArguments(process.env, places.length), say),
    say,
    onChange: () => tell(),
  });
  const control = await serveControl((name) => nodes.startOne(name));
  running.nodes = nodes;
  running.control = control;
  tell = () => {
    if (signals.stopping()) return;
    claim.setNodes(nodes.identities());
    writeClusterFile(files.cluster, {
      nodes: nodes.records(),
      ...dependencies,
      launcher: { pid: process.pid, url: control.url, token: control.token },
    });
  };
  const areReady = (await nodes.start(signals.requested)) && (await untilReady(config.url, signals.requested));
  if (areReady) await tellWhere(config, credentials, files.connection);
  if (!config.single) {
    await signals.requested;
    return;
  }
  const ended = nodes.untilOneStaysDown();
  await Promise.race([signals.requested, ended]);
  if (!signals.stopping()) throw new StartError(`The node ended (${await ended}); its log is ${places[0]?.log}`);
}

/** Ports below this are for root, and a single node listens on the one that is configured. */
const OPEN_PORTS = 1_024;

function accountOfNodes({ home, single, port }: LaunchConfig): Account | undefined {
  const account = unprivilegedAccount('A node', path.join(home, 'postgres', 'cluster'), say);
  if (account === undefined || !single || port >= OPEN_PORTS) return account;
  say(`The node runs as root: only root may listen on port ${port}`);
  return undefined;
}

function say(line: string): void {
  console.log(printable(line));
}

/** The files that tell others what runs and where; they are there only while it does. */
function filesOf({ home }: LaunchConfig): { readonly cluster: string; readonly connection: string; remove(): void } {
  const cluster = path.join(home, 'cluster.json');
  const connection = path.join(home, 'connection.json');
  return {
    cluster,
    connection,
    remove: () => {
      rmSync(connection, { force: true });
      removeClusterFile(cluster);
    },
  };
}

/** What an interrupted run left behind: the load balancer first, then the nodes, which then have nobody to answer. */
async function stopWhatIsLeft({ config, home }: LaunchConfig, { leftNodes }: RunClaim): Promise<void> {
  await stopLeftHaproxy(path.join(home, 'haproxy'));
  if (leftNodes.length === 0) return;
  say(
    leftNodes.length === 1
      ? 'Stopping the node that an interrupted run left behind'
      : `Stopping ${leftNodes.length} nodes that an interrupted run left behind`,
  );
  await Promise.all(
    leftNodes.map((node) =>
      endProcess('A node of an earlier run', node, [
        { signal: 'SIGTERM', waitMs: config.CARILLON_DRAIN_MS + NODE_STOP_MARGIN_MS },
        { signal: 'SIGKILL', waitMs: 5_000 },
      ]),
    ),
  );
}

async function tellWhere(config: LaunchConfig, credentials: Credentials, connectionFile: string): Promise<void> {
  const keys = await signingKeysInUse(config.url, credentials);
  const connection = { url: config.url, consoleUrl: `${config.url}/admin`, ...credentials, ...keys };
  writePrivate(connectionFile, `${JSON.stringify(connection, null, 2)}\n`);
  const allowed = process.env.CARILLON_ALLOW_PRIVATE_DESTINATIONS;
  console.log(
    announce({
      ...connection,
      home: config.home,
      nodes: config.single ? null : config.nodes,
      privateDestinationsAllowed: allowed === undefined || config.config.CARILLON_ALLOW_PRIVATE_DESTINATIONS,
      receiverPort: await exampleReceiverPort(config.port),
    }),
  );
}

/** The keys may have been rotated since they were made, or the database may have been set up by others. */
async function signingKeysInUse(url: string, { token }: Credentials): Promise<Partial<Credentials>> {
  try {
    const response = await fetch(`${url}/v2/keys`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(5_000),
    });
    const keys = (await response.json()) as { current?: unknown; next?: unknown };
    if (response.ok && typeof keys.current === 'string' && typeof keys.next === 'string') {
      return { currentSigningKey: keys.current, nextSigningKey: keys.next };
    }
  } catch {
    // The ones we have are the best guess.
  }
  return {};
}

/** A memorable port beside the API's, or any free one. */
async function exampleReceiverPort(apiPort: number): Promise<number> {
  for (let port = apiPort + 1; port < Math.min(apiPort + 10, 65_536); port += 1) {
    if (await isFree(port)) return port;
  }
  return await freePort();
}

/**
 * The load balancer and the nodes first, so that what they have under way is answered and recorded; then the stores, at once.
 */
async function stopAll(config: LaunchConfig, running: Running, signals: StopSignals): Promise<void> {
  const { nodes, balancer, control, stores } = running;
  filesOf(config).remove();
  control?.close();
  if (nodes === undefined && balancer === undefined && stores.length === 0) return;
  if (signals.stopping()) say('\nStopping (Ctrl-C once more ends the nodes at once)');
  const graceMs = config.config.CARILLON_DRAIN_MS + NODE_STOP_MARGIN_MS;
  const results = await Promise.allSettled([balancer?.stop(), nodes?.stop(graceMs, signals.hurry)]);
  results.push(...(await Promise.allSettled(stores.map((store) => store.stop()))));
  for (const result of results) if (result.status === 'rejected') throw result.reason as Error;
  if (signals.stopping()) say('Stopped');
}
