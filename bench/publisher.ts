/** A client that publishes as much as it can for a while, a process of its own: by Carillon's API, by BullMQ, or with a bare insert. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { Pool } from 'undici';
import { messageId } from '../src/domain/ids.js';
import type { Message } from '../src/domain/message.js';
import { shardOfMessage } from '../src/domain/shard.js';
import { statement } from '../src/postgres/database.js';
import { messageColumns, pending } from '../src/postgres/messages/message-columns.js';
import { randomBytes } from 'node:crypto';
import { openQueue, redisConnection } from './bullmq-queue.js';
import { bearer, itemOf } from './carillon-node.js';
import { hear, say, startOptions } from './child.js';
import { bodyOf } from './signed-post.js';

export type PublisherKind = 'single' | 'batch' | 'insert' | 'add' | 'addBulk';

export interface PublisherOptions {
  readonly kind: PublisherKind;
  /** Of the API, the table or Redis, as the kind calls for. */
  readonly url: string;
  /** Messages of one request. */
  readonly items: number;
  /** Requests under way at once. */
  readonly lanes: number;
  /** Messages are due so long from now, spread over `spanMs`. */
  readonly fromMs: number;
  readonly spanMs: number;
}

interface Due {
  readonly index: number;
  readonly dueAtMs: number;
}

type Send = (messages: readonly Due[]) => Promise<unknown>;

const DESTINATION = 'http://127.0.0.1:9/nowhere';
const options = startOptions() as PublisherOptions;

const SENDERS: Readonly<Record<PublisherKind, () => Send | Promise<Send>>> = {
  single: () => singleSender(),
  batch: () => batchSender(),
  insert: () => insertSender(),
  add: () => addSender(false),
  addBulk: () => addSender(true),
};

function singleSender(): Send {
  const pool = new Pool(options.url, { connections: options.lanes });
  return async ([message]) => {
    if (message === undefined) return;
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: `/v2/publish/${DESTINATION}`,
      headers: {
        ...bearer(),
        'content-type': 'application/json',
        'upstash-not-before': (message.dueAtMs / 1_000).toFixed(3),
      },
      body: bodyOf(message.index),
    });
    await expectOk(statusCode, body);
  };
}

function batchSender(): Send {
  const pool = new Pool(options.url, { connections: options.lanes });
  return async (messages) => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/v2/batch',
      headers: { ...bearer(), 'content-type': 'application/json' },
      body: JSON.stringify(messages.map((message) => itemOf(DESTINATION, message, false))),
    });
    await expectOk(statusCode, body);
  };
}

async function expectOk(status: number, body: { text(): Promise<string> }): Promise<void> {
  const text = await body.text();
  if (status !== 200 || text.includes('"error"')) throw new Error(`answered ${status}: ${text.slice(0, 500)}`);
}

/** The rows of the intake without anything around them. */
async function insertSender(): Promise<Send> {
  const pool = new pg.Pool({ connectionString: options.url, max: options.lanes });
  await pool.query('select 1');
  return (messages) => pool.query(statement('insert-new-messages', messageColumns(messages.map(rowOf))));
}

function rowOf({ index, dueAtMs }: Due): ReturnType<typeof pending> {
  const id = messageId(dueAtMs, randomBytes(10));
  const message: Message = {
    ...{ id, tenantId: 1, shard: shardOfMessage(id, 256), kind: 'message', destination: DESTINATION, method: 'POST' },
    ...{ headers: { 'Content-Type': ['application/json'] }, body: Buffer.from(bodyOf(index)), dueAtMs },
    ...{
      createdAtMs: Date.now(),
      maxRetries: 3,
      timeoutMs: 30_000,
      labels: [],
      scheduleId: null,
      occurrenceAtMs: null,
    },
    ...{ overlap: null, idempotencyKey: null, sourceId: null, retryDelay: null, callback: null, failureCallback: null },
    ...{ redact: null, callerIp: '127.0.0.1' },
  };
  return pending(message);
}

async function addSender(bulk: boolean): Promise<Send> {
  const queue = openQueue(redisConnection(options.url));
  await queue.waitUntilReady();
  const jobOf = ({ index, dueAtMs }: Due) => ({
    name: 'deliver',
    data: { id: `msg_${index}`, body: bodyOf(index), dueAtMs: null },
    opts: { delay: dueAtMs - Date.now() },
  });
  if (bulk) return (messages) => queue.addBulk(messages.map(jobOf));
  return async ([message]) => {
    if (message === undefined) return;
    const { name, data, opts } = jobOf(message);
    await queue.add(name, data, opts);
  };
}

/** Sends for so long and gives what was answered, and in what time. */
async function run(send: Send, durationMs: number): Promise<{ messages: number; durationMs: number }> {
  const startedAtMs = performance.now();
  let next = 0;
  let answered = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - startedAtMs < durationMs) {
      const first = next;
      next += options.items;
      const fromMs = Date.now() + options.fromMs;
      const messages = Array.from({ length: options.items }, (_, index) => ({
        index: first + index,
        dueAtMs: Math.floor(fromMs + Math.random() * options.spanMs),
      }));
      await send(messages);
      answered += options.items;
    }
  };
  await Promise.all(Array.from({ length: options.lanes }, lane));
  return { messages: answered, durationMs: performance.now() - startedAtMs };
}

const send = await SENDERS[options.kind]();
hear((note) => {
  if (note.kind !== 'run') return;
  run(send, Number(note.durationMs)).then(
    (done) => say({ kind: 'ran', ...done }),
    (error: unknown) => {
      console.error(error);
      void delay(0).then(() => process.exit(1));
    },
  );
});
say({ kind: 'ready' });
