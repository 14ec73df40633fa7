/** What each node of a local cluster is called, where it listens, where it logs, and with which settings it runs. */
import path from 'node:path';
import type { Credentials } from '../launcher/credentials.js';
import type { LaunchConfig } from '../launcher/launch-config.js';
import { freePort, isFree } from '../system/ports.js';

export interface NodeLaunch {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** File of its log. */
  readonly log: string;
}

/** What all nodes share. */
export interface SharedSettings {
  readonly config: LaunchConfig;
  readonly credentials: Credentials;
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

const LOOPBACK = '127.0.0.1';
/** PostgreSQL keeps a few connections for its superuser, and people look in with tools of their own. */
const SPARE_CONNECTIONS = 20;
const LEAST_CONNECTIONS = 100;

/** Names and addresses. A single node has the API's address; several listen beside it, on this machine only. */
export async function planNodes({ nodes, single, home, host, port, url, config }: LaunchConfig): Promise<NodeLaunch[]> {
  const log = (name: string): string => path.join(home, 'logs', `${name}.log`);
  if (single) {
    const name = config.CARILLON_NODE_NAME;
    return [{ name, host, port, url, log: log(name.replace(/[^\w.-]/g, '_')) }];
  }
  const places: NodeLaunch[] = [];
  let next = port + 1;
  while (places.length < nodes) {
    const name = `node-${places.length + 1}`;
    // Ports in a row are easy to remember; where they are taken any will do.
    const isNear = next < Math.min(port + 200, 65_536);
    const candidate = isNear ? next++ : await freePort();
    if (places.some((config) => config.port === candidate) || !(await isFree(candidate, LOOPBACK))) continue;
    places.push({ name, host: LOOPBACK, port: candidate, url: `http://${LOOPBACK}:${candidate}`, log: log(name) });
  }
  return places;
}

/** The environment of one node. What the user has set stays, save for what makes it this node of this cluster. */
export function nodeEnvironment(shared: SharedSettings, node: NodeLaunch): NodeJS.ProcessEnv {
  const { config: place, credentials } = shared;
  return {
    CARILLON_ALLOW_PRIVATE_DESTINATIONS: 'true',
    // Who calls is what the load balancer says; a single node has nobody before it.
    ...(place.single ? {} : { CARILLON_TRUSTED_PROXIES: LOOPBACK }),
    ...process.env,
    CARILLON_HOME: place.home,
    CARILLON_NODE_NAME: node.name,
    CARILLON_HOST: node.host,
    CARILLON_PORT: String(node.port),
    CARILLON_DATABASE_URL: shared.databaseUrl,
    CARILLON_REDIS_URL: shared.redisUrl,
    CARILLON_TOKEN: credentials.token,
    CARILLON_ADMIN_TOKEN: credentials.adminToken,
    CARILLON_CURRENT_SIGNING_KEY: credentials.currentSigningKey,
    CARILLON_NEXT_SIGNING_KEY: credentials.nextSigningKey,
  };
}

/** How many connections our PostgreSQL must allow so that every node can have its whole pool. */
export function databaseConnections({ nodes, config }: LaunchConfig): number {
  return Math.max(LEAST_CONNECTIONS, nodes * config.CARILLON_DATABASE_POOL + SPARE_CONNECTIONS);
}
