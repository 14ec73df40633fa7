/** What `npm start` runs: the stores that are not configured, one node, and an orderly end to all of them. */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfig, type Config } from '../src/config.js';
import { announce } from './announcement.js';
import { localCredentials, type Credentials } from './credentials.js';
import { startPostgres, startRedis, type LocalStore } from './local-stores.js';
import { startNode, untilReady, type NodeProcess } from './node-process.js';
import { freePort, isFree } from './ports.js';
import { writePrivate } from './private-file.js';
import { AlreadyRunning, claimRun, type RunClaim } from './run-file.js';
import { endProcess } from './server-process.js';
import { listenForStop, type StopSignals } from './stop-signals.js';
import { keepRunning } from './supervision.js';

/** Time a stopping node gets beyond its drain limit. */
const NODE_STOP_MARGIN_MS = 10_000;

/** Raised for what the user can put right: only its text is shown. */
class StartFault extends Error {}

interface Place {
  readonly config: Config;
  readonly home: string;
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

/** What is running and must be stopped, in the order in which it was started. */
interface Running {
  readonly stores: { stop(): Promise<void> }[];
  node?: NodeProcess;
}

/** Runs until it is told to stop. Returns the exit code: 0 after an orderly stop, 1 if something failed. */
export async function start(): Promise<number> {
  const signals = listenForStop();
  const running: Running = { stores: [] };
  let claim: RunClaim | undefined;
  let code = 0;
  try {
    const place = readPlace();
    claim = claimHome(place);
    await run(place, claim, running, signals);
  } catch (error) {
    code = 1;
    if (!signals.stopping()) console.error(error instanceof StartFault ? `\n${error.message}\n` : error);
  }
  try {
    await stopAll(running, signals);
  } catch (error) {
    code = 1;
    console.error(error);
  }
  claim?.release();
  signals.release();
  return code;
}

async function run(place: Place, claim: RunClaim, running: Running, signals: StopSignals): Promise<void> {
  const { home, config } = place;
  const connectionFile = path.join(home, 'connection.json');
  rmSync(connectionFile, { force: true });
  if (claim.leftNode !== undefined) await stopLeftNode(place, claim);
  if (!(await isFree(place.port, place.host))) {
    throw new StartFault(
      `Port ${place.port} of ${place.host} is taken by another program. Set CARILLON_PORT to use a different one, ` +
        `for example: CARILLON_PORT=${place.port + 1} npm start`,
    );
  }
  const credentials = { ...localCredentials(home), ...configuredCredentials(config) };
  const urls = await startStores(place, running, signals);
  if (signals.stopping()) return;
  const node = startNode(nodeEnvironment(place, credentials, urls), path.join(home, 'logs', 'node-1.log'));
  running.node = node;
  claim.setNode(node.identity);
  const over = Promise.race([signals.requested, node.ended]);
  const ready = await untilReady(place.url, over);
  if (ready) {
    await tellWhere(place, credentials, connectionFile);
    await over;
    rmSync(connectionFile, { force: true });
  }
  if (!signals.stopping()) {
    throw new StartFault(
      `The node ended by itself (${await node.ended}); its log is ${path.join(home, 'logs', 'node-1.log')}`,
    );
  }
}

function readPlace(): Place {
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    throw new StartFault((error as Error).message);
  }
  const home = path.resolve(repositoryRoot(), config.CARILLON_HOME);
  const host = config.CARILLON_HOST;
  const port = config.CARILLON_PORT;
  if (port === 0) throw new StartFault('CARILLON_PORT is 0, expected a port from 1 to 65535');
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return { config, home, host, port, url: `http://${reachable}:${port}` };
}

function repositoryRoot(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  while (!existsSync(path.join(folder, 'package.json'))) folder = path.dirname(folder);
  return folder;
}

function claimHome({ home, url }: Place): RunClaim {
  mkdirSync(path.join(home, 'logs'), { recursive: true });
  try {
    return claimRun(path.join(home, 'run.json'));
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error;
    throw new StartFault(
      `${error.message} (${home}), with its API at ${url} unless configured otherwise. Stop that one with Ctrl-C, ` +
        'or set CARILLON_HOME and CARILLON_PORT to run a second one.',
    );
  }
}

async function stopLeftNode({ config }: Place, claim: RunClaim): Promise<void> {
  if (claim.leftNode === undefined) return;
  console.log('Stopping the node that an interrupted run left behind');
  await endProcess('The node of an earlier run', claim.leftNode, [
    { signal: 'SIGTERM', waitMs: config.CARILLON_DRAIN_MS + NODE_STOP_MARGIN_MS },
    { signal: 'SIGKILL', waitMs: 5_000 },
  ]);
}

/** Starts what no URL is configured for, both at once, and keeps it running. */
async function startStores(
  { config, home }: Place,
  running: Running,
  signals: StopSignals,
): Promise<{ database: string; redis: string }> {
  const logs = path.join(home, 'logs');
  const say = (line: string): void => console.log(line);
  const supervised = async (name: string, startStore: (port?: number) => Promise<LocalStore>): Promise<string> => {
    say(`Starting ${name}`);
    const store = await keepRunning(name, startStore, () => signals.stopping(), say);
    running.stores.push(store);
    return store.url;
  };
  const settled = await Promise.allSettled([
    config.CARILLON_DATABASE_URL ||
      supervised('PostgreSQL', (port) =>
        startPostgres({ port, dataDir: path.join(home, 'postgres'), log: path.join(logs, 'postgres.log') }),
      ),
    config.CARILLON_REDIS_URL ||
      supervised('Redis', (port) =>
        startRedis({ port, dataDir: path.join(home, 'redis'), log: path.join(logs, 'redis.log'), say }),
      ),
  ]);
  const [database, redis] = settled.map((result) => {
    // A store that cannot start says why and where its log is; the stack would only hide that.
    if (result.status === 'rejected') throw new StartFault((result.reason as Error).message);
    return result.value;
  });
  return { database: database ?? '', redis: redis ?? '' };
}

function configuredCredentials(config: Config): Partial<Credentials> {
  const given = {
    token: config.CARILLON_TOKEN,
    adminToken: config.CARILLON_ADMIN_TOKEN,
    currentSigningKey: config.CARILLON_CURRENT_SIGNING_KEY,
    nextSigningKey: config.CARILLON_NEXT_SIGNING_KEY,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

function nodeEnvironment(
  { home, host, port }: Place,
  credentials: Credentials,
  urls: { database: string; redis: string },
): NodeJS.ProcessEnv {
  return {
    CARILLON_ALLOW_PRIVATE_DESTINATIONS: 'true',
    ...process.env,
    CARILLON_HOME: home,
    CARILLON_HOST: host,
    CARILLON_PORT: String(port),
    CARILLON_DATABASE_URL: urls.database,
    CARILLON_REDIS_URL: urls.redis,
    CARILLON_TOKEN: credentials.token,
    CARILLON_ADMIN_TOKEN: credentials.adminToken,
    CARILLON_CURRENT_SIGNING_KEY: credentials.currentSigningKey,
    CARILLON_NEXT_SIGNING_KEY: credentials.nextSigningKey,
  };
}

async function tellWhere(place: Place, credentials: Credentials, connectionFile: string): Promise<void> {
  const consoleUrl = `${place.url}/admin`;
  const keys = await signingKeysInUse(place.url, credentials);
  const connection = { url: place.url, ...credentials, ...keys, consoleUrl };
  writePrivate(connectionFile, `${JSON.stringify(connection, null, 2)}\n`);
  const allowed = process.env.CARILLON_ALLOW_PRIVATE_DESTINATIONS;
  console.log(
    announce({
      ...connection,
      home: place.home,
      privateDestinationsAllowed: allowed === undefined || place.config.CARILLON_ALLOW_PRIVATE_DESTINATIONS,
      receiverPort: await exampleReceiverPort(place.port),
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

/** The node first, so that it can still record what it has under way; then the stores, at once. */
async function stopAll(running: Running, signals: StopSignals): Promise<void> {
  if (running.node === undefined && running.stores.length === 0) return;
  if (signals.stopping()) console.log('\nStopping (Ctrl-C once more ends the node at once)');
  const graceMs = readConfig(process.env).CARILLON_DRAIN_MS + NODE_STOP_MARGIN_MS;
  await running.node?.stop(graceMs, signals.hurry);
  const results = await Promise.allSettled(running.stores.map((store) => store.stop()));
  for (const result of results) if (result.status === 'rejected') throw result.reason as Error;
  if (signals.stopping()) console.log('Stopped');
}
