/** Carillon's side: a node as `npm start` runs it, a process of its own, and a client that publishes in batches. */
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { NodeProcess } from '../test/kit/node-process.js';
import { freePort } from '../cluster/system/ports.js';
import { now } from './harness.js';
import { bodyOf, SIGNING_KEY } from './signed-post.js';
import { DUE_HEADER } from './receiver-headers.js';
import type { BenchStores } from './stores.js';

const TOKEN = 'bench-token-0123456789';
const ADMIN_TOKEN = 'bench-admin-token-0123456789';
const BATCH_ITEMS = 500;
const BATCHES_AT_ONCE = 4;

export interface CarillonNode {
  readonly pid: number;
  readonly port: number;
  /** Of its API. */
  readonly url: string;
  /** When its process was started. */
  readonly startedAtMs: number;
  /** Publishes messages to `url` with 200-byte bodies, numbered from `first`, in batches; resolves when all are accepted. */
  publish(url: string, messages: readonly Due[], options?: { readonly tellDue: boolean }): Promise<void>;
  /** Creates a schedule that calls `url`; `settings` are further headers of the request. */
  schedule(
    id: string,
    cron: string,
    url: string,
    settings?: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<void>;
  deleteSchedule(id: string): Promise<void>;
  stop(): Promise<void>;
}

export interface Due {
  readonly index: number;
  readonly dueAtMs: number;
}

/** `nodeArguments` are for the node's own process, such as --cpu-prof; `settings` are environment variables of its own. */
export async function startCarillon(
  stores: BenchStores,
  concurrency: number,
  nodeArguments: readonly string[] = [],
  name = 'node-1',
  settings: Readonly<Record<string, string>> = {},
): Promise<CarillonNode> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const startedAtMs = now();
  const log = openSync(path.join(stores.folder, 'node.log'), 'a', 0o600);
  const node = new NodeProcess({
    name,
    port,
    nodeArguments,
    environment: () => ({
      ...environment(stores, port, concurrency),
      CARILLON_NODE_NAME: name,
      ...stores.nodeSettings,
      ...settings,
    }),
    output: () => log,
    describe: () => `see ${path.join(stores.folder, 'node.log')}`,
  });
  await node.start();
  closeSync(log);
  return {
    pid: node.life.pid,
    port,
    url,
    startedAtMs,
    publish: (destination, messages, options = { tellDue: false }) => publishAll(url, destination, messages, options),
    schedule: async (id, cron, destination, scheduleSettings = {}, body) => {
      const headers = { 'Upstash-Cron': cron, 'Upstash-Schedule-Id': id, ...scheduleSettings };
      await call(url, 'POST', `/v2/schedules/${destination}`, headers, body);
    },
    deleteSchedule: async (id) => {
      await call(url, 'DELETE', `/v2/schedules/${id}`);
    },
    stop: async () => {
      if (!node.isDown) await node.sigterm();
    },
  };
}

function environment(stores: BenchStores, port: number, concurrency: number): Record<string, string> {
  return {
    CARILLON_PORT: String(port),
    CARILLON_DATABASE_URL: stores.postgres.url,
    CARILLON_REDIS_URL: stores.redis.url,
    CARILLON_TOKEN: TOKEN,
    CARILLON_ADMIN_TOKEN: ADMIN_TOKEN,
    CARILLON_CURRENT_SIGNING_KEY: SIGNING_KEY,
    CARILLON_NEXT_SIGNING_KEY: `${SIGNING_KEY}_next`,
    CARILLON_ALLOW_PRIVATE_DESTINATIONS: 'true',
    // One host gets at most half of a node's slots.
    CARILLON_CONCURRENCY: String(2 * concurrency),
    CARILLON_HOST_CONCURRENCY: String(concurrency),
  };
}

/** As a node's `publish`, by way of any address of the API. */
export async function publishAll(
  api: string,
  destination: string,
  messages: readonly Due[],
  options: { readonly tellDue: boolean },
): Promise<void> {
  let next = 0;
  const publisher = async (): Promise<void> => {
    while (next < messages.length) {
      const part = messages.slice(next, next + BATCH_ITEMS);
      next += part.length;
      const items = part.map((message) => itemOf(destination, message, options.tellDue));
      const answers = (await call(api, 'POST', '/v2/batch', {}, JSON.stringify(items))) as { messageId?: string }[];
      const refused = answers.find((answer) => answer.messageId === undefined);
      if (refused !== undefined) throw new Error(`an item was refused: ${JSON.stringify(refused)}`);
    }
  };
  await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, publisher));
}

/** An item of a batch. */
export function itemOf(destination: string, { index, dueAtMs }: Due, tellDue: boolean): unknown {
  return {
    destination,
    body: bodyOf(index),
    headers: {
      'Content-Type': 'application/json',
      'Upstash-Not-Before': (dueAtMs / 1_000).toFixed(3),
      ...(tellDue ? { [`Upstash-Forward-${DUE_HEADER}`]: String(dueAtMs) } : {}),
    },
  };
}

/** What a request proves itself with. */
export function bearer(): Record<string, string> {
  return { authorization: `Bearer ${TOKEN}` };
}

/** What one of an administrator proves itself with. */
export function adminBearer(): Record<string, string> {
  return { authorization: `Bearer ${ADMIN_TOKEN}` };
}

/** Calls the API; throws unless the answer is a good one. */
export async function call(
  api: string,
  method: string,
  target: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<unknown> {
  const response = await fetch(`${api}${target}`, {
    method,
    headers: { ...bearer(), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${target.slice(0, 100)} answered ${response.status}: ${text}`);
  return text === '' ? null : JSON.parse(text);
}
