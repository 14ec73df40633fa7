// What our code takes for its clients of Redis and of PostgreSQL, on simulated connections. Each has only what is called.

import type { Redis } from 'ioredis';
import { CarillonError } from '../../src/domain/errors.js';
import type { SubscriberClient } from '../../src/redis/subscriptions.js';
import type { Database, Given, Queryable, Row, StatementName } from '../../src/postgres/database.js';
import type { Later, Link } from './link.js';
import { nameOfScript, type RedisServer, sha1 } from './redis-server.js';
import type { PostgresServer } from './postgres-server.js';
import { SqlError, type Transaction } from './postgres-transactions.js';

/** Keys and arguments of a script, as the client flattens them. */
function split(count: number, rest: readonly unknown[]): [string[], string[]] {
  const flat = rest.flat().map(String);
  return [flat.slice(0, count), flat.slice(count)];
}

/** How a client is told that its connection closed or is ready. */
interface Emits {
  emit(event: 'close' | 'ready'): boolean;
}

/** A client as ioredis makes it: it may be asked to run scripts, for a few plain commands, and to publish. */
export function redisClient(
  link: Link,
  server: RedisServer,
  onSent: (script: string, keys: readonly string[]) => void = () => undefined,
): Redis & Emits {
  const by = link.process;
  const listeners = { close: [] as (() => void)[], ready: [] as (() => void)[] };
  const run = (hash: string, count: number, rest: unknown[]): Promise<unknown> => {
    const [keys, args] = split(count, rest);
    onSent(nameOfScript(hash), keys);
    return link.send(() => server.script(hash, keys, args, by));
  };
  const client = {
    evalsha: (hash: string, count: number, ...rest: unknown[]) => run(hash, count, rest),
    eval: (source: string, count: number, ...rest: unknown[]) => run(sha1(source), count, rest),
    set: (key: string, text: string, _onlyIfNew: 'NX') =>
      link.send(() => {
        if (server.get(key) === null) server.put(key, text, by);
      }),
    hmget: (key: string, ...fields: string[]) =>
      link.send(() => fields.map((field) => server.hash(key).get(field) ?? null)),
    hset: (key: string, ...pairs: string[]) =>
      link.send(() => {
        for (let at = 0; at + 1 < pairs.length; at += 2) server.hash(key).set(pairs[at] ?? '', pairs[at + 1] ?? '');
      }),
    hdel: (key: string, field: string) => link.send(() => server.hash(key).delete(field)),
    zrem: (key: string, member: string) => link.send(() => server.set(key).delete(member)),
    on: (event: 'close' | 'ready', call: () => void) => listeners[event].push(call),
    emit: (event: 'close' | 'ready') => listeners[event].forEach((call) => call()),
    get status() {
      return link.isOpen ? 'ready' : 'reconnecting';
    },
    info: () => link.send(() => `run_id:${server.runId}\r\nmaster_replid:${server.runId}\r\n`),
    publish: (channel: string, text: string) => link.send(() => server.publish(channel, text)),
  };
  return client as unknown as Redis & Emits;
}

interface Listeners {
  message: ((channel: string, text: string) => void)[];
  ready: (() => void)[];
}

/** A client that subscribes. It forgets what it was subscribed to when its connection breaks, and says `ready` when that is back. */
export function subscriberClient(link: Link, server: RedisServer): { client: SubscriberClient; onReady: () => void } {
  const listeners: Listeners = { message: [], ready: [] };
  const hear = (channel: string, text: string): void => {
    for (const call of listeners.message) call(channel, text);
  };
  const client = {
    on: (event: keyof Listeners, call: never) => listeners[event].push(call),
    subscribe: (...names: string[]) => link.send(() => names.forEach((name) => server.subscribe(link, name, hear))),
    unsubscribe: (...names: string[]) => link.send(() => names.forEach((name) => server.unsubscribe(link, name))),
    disconnect: (_reconnect: true) => link.reset(),
    get status() {
      return link.isOpen ? 'ready' : 'reconnecting';
    },
  };
  return {
    client: client as unknown as SubscriberClient,
    onReady: () => listeners.ready.forEach((call) => call()),
  };
}

/** As in src/postgres/database.ts. */
const MAX_TRIES = 5;
const CONFLICT_PAUSE_MS = 20;
const PAST_LIMIT = ['25P03', '55P03'];

/** The pool: a request that is lost takes no other along; a transaction has a connection of its own, which ends with it. */
export function postgresClient(link: Link, server: PostgresServer): Database {
  const send = async <Answer>(carryOut: () => Answer | Later<Answer>): Promise<Answer> => {
    try {
      return await link.send(carryOut);
    } catch (error) {
      throw databaseError(error);
    }
  };
  const once = async <Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result> => {
    const transaction = await send(() => server.transactions.begin(link));
    const sendWithin = <Answer>(carryOut: () => Answer | Later<Answer>): Promise<Answer> =>
      transaction.connection === link.connection
        ? send(carryOut)
        : Promise.reject(away(new Error('Connection terminated unexpectedly')));
    const connection: Queryable = {
      run: (name, ...given) => sendWithin(() => server.run(name, given, link.process, transaction)),
      text: () => Promise.reject(new Error('the simulation runs no text')),
    };
    try {
      const result = await work(connection);
      await sendWithin(() => server.transactions.commit(transaction));
      return result;
    } catch (error) {
      // Rolled back, if PostgreSQL can be told.
      sendWithin(() => server.transactions.end(transaction, new SqlError('25P01', 'rolled back'))).catch(
        () => undefined,
      );
      throw error;
    }
  };
  const database: Pick<Database, 'run' | 'transaction'> = {
    run: (name, ...given) => send(() => server.run(name, given, link.process)),
    transaction: async (work) => {
      for (let tries = 1; ; tries++) {
        try {
          return await once(work);
        } catch (error) {
          if (!(error instanceof SqlError && PAST_LIMIT.includes(error.code))) throw error;
          if (tries === MAX_TRIES) throw away(error);
          await new Promise((resolve) => setTimeout(resolve, CONFLICT_PAUSE_MS * tries));
        }
      }
    },
  };
  return database as Database;
}

/** A database whose statements are carried out at once, by nobody else's leave: for whoever wants to see what they do. */
export function boundDatabase(server: PostgresServer, id: string): Database {
  const link = { connection: 0, process: { id } } as Link;
  const atOnce = <Name extends StatementName>(
    name: Name,
    given: Given<Name>,
    transaction: Transaction | null,
  ): Promise<Row<Name>[]> =>
    new Promise((resolve) => resolve(server.run(name, given, { id }, transaction) as Row<Name>[]));
  const database: Pick<Database, 'run' | 'transaction'> = {
    run: (name, ...given) => atOnce(name, given, null),
    transaction: async (work) => {
      const transaction = server.transactions.begin(link);
      const connection: Queryable = {
        run: (name, ...given) => atOnce(name, given, transaction),
        text: () => Promise.reject(new Error('the simulation runs no text')),
      };
      try {
        const result = await work(connection);
        server.transactions.commit(transaction);
        return result;
      } catch (error) {
        server.transactions.end(transaction, new SqlError('25P01', 'rolled back'));
        throw error;
      }
    },
  };
  return database as Database;
}

/** What stood still for too long, or waited too long for a lock, is tried again; everything else says that the table is away. */
function databaseError(error: unknown): unknown {
  const text = error instanceof Error ? error.message : String(error);
  const isAboutStatement =
    error instanceof SqlError && (PAST_LIMIT.includes(error.code) || error.code.startsWith('23'));
  if (text.startsWith('the simulation') || isAboutStatement) return error;
  return away(error);
}

function away(error: unknown): CarillonError {
  const text = error instanceof Error ? error.message : String(error);
  return new CarillonError('POSTGRES_UNAVAILABLE', `PostgreSQL is unavailable: ${text}`, { cause: error });
}
