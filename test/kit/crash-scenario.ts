/** What crash tests have in common: a node process, a receiver process and a table, work put in, and the wait until all is done. */
import pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { type Config, SETTINGS } from '../../src/config.js';
import { migrate } from '../../src/postgres/migrate.js';
import { partitionBounds } from '../../src/postgres/maintenance.js';
import { judge, type Case, type EverySecond, type Verdict, WITNESS } from './judge.js';
import { migratedDatabase, openDatabase, TEST_SHARDS } from './node.js';
import { nodeProcess, type TestNodeProcess } from './test-node-process.js';
import { startReceiver, type Receiver } from './receiver.js';
import { freshRedis } from './stores.js';

/**
 * A number of things to do, for a crash test. `usual` fits into `npm test` on two cores; CARILLON_TEST_FULL=1 takes the full size, which
 * needs a machine for itself, and CARILLON_TEST_SHARE (of the full size, 0 to 1) anything between.
 */
export function sized(usual: number, full: number): number {
  const share = process.env.CARILLON_TEST_SHARE;
  if (share !== undefined) return Math.max(1, Math.round(full * Number(share)));
  return process.env.CARILLON_TEST_FULL === '1' ? full : usual;
}

/** Settings under which so many deliveries, and half as many again, can be in flight to one receiver. */
export function roomFor(deliveries: number): Pick<Config, 'CARILLON_CONCURRENCY' | 'CARILLON_HOST_CONCURRENCY'> {
  const room = Math.min(Math.max(200, Math.ceil(1.5 * deliveries)), SETTINGS.CARILLON_CONCURRENCY.max / 2);
  // One host gets at most half of a node's slots.
  return { CARILLON_CONCURRENCY: 2 * room, CARILLON_HOST_CONCURRENCY: room };
}

/** Prints figures, so that a run can be compared with the one before. */
export function report(test: string, figures: object): void {
  process.stdout.write(`${test}: ${JSON.stringify(figures)}\n`);
}

/** Messages that are sent all the time, so that some are on their way whenever something breaks. */
export interface Trickle {
  /** By what the API said; `unavailable` are answers 503, all of which must have Retry-After. */
  readonly counts: { accepted: number; unavailable: number; broken: number };
  stop(): Promise<void>;
}

export interface CrashScenario {
  readonly node: TestNodeProcess;
  readonly receiver: Receiver;
  readonly databaseUrl: string;
  /** Ids of the messages that the API accepted. */
  readonly accepted: readonly string[];
  /** Publishes messages to a path of the receiver, in batches. Throws when one is not accepted. */
  publish(count: number, path: string, headers?: Record<string, string>): Promise<string[]>;
  /** Publishes one message; null when the API did not accept it, for whatever reason. */
  tryPublish(path: string, headers?: Record<string, string>): Promise<string | null>;
  /** Publishes one message after the other, until stopped, to the paths in turn; `/path 3s` means with that delay. */
  trickle(paths: readonly string[], everyMs: number): Trickle;
  /** Creates every-second schedules `prefix-0`, `prefix-1`… */
  everySecond(count: number, prefix: string, path: string, headers?: Record<string, string>): Promise<void>;
  /** Pauses those schedules when all are on time, and expects of each every second from its creation to now. */
  stopSeconds(): Promise<void>;
  /**
   * Resolves when no row is pending; rejects after `timeoutMs`, saying how many are. Gives how long it took. `except` is a pattern of
   * destinations (as for SQL's `like`) that are not waited for.
   */
  settled(options?: { timeoutMs?: number; except?: string }): Promise<number>;
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  judge(more?: Partial<Case>): Promise<Verdict>;
  stop(): Promise<void>;
}

/** `settings` differ from the usual ones; a test with stores of its own names them there. The node is started. */
export async function crashScenario(settings: Partial<Config> = {}): Promise<CrashScenario> {
  const fresh = settings.CARILLON_DATABASE_URL === undefined ? await migratedDatabase() : null;
  const databaseUrl = settings.CARILLON_DATABASE_URL ?? fresh?.url ?? '';
  const redis = freshRedis();
  const receiver = await startReceiver();
  const node = await nodeProcess({
    CARILLON_REDIS_URL: redis.url,
    CARILLON_REDIS_PREFIX: redis.prefix.replace(/:$/, ''),
    ...settings,
    CARILLON_DATABASE_URL: databaseUrl,
  });
  await prepare(databaseUrl);
  const scenario = new Scenario(node, receiver, databaseUrl, () => fresh?.drop());
  try {
    await node.start();
  } catch (error) {
    await scenario.stop();
    throw error;
  }
  return scenario;
}

async function prepare(databaseUrl: string): Promise<void> {
  const database = openDatabase(databaseUrl);
  try {
    await migrate(database, { shards: TEST_SHARDS, ...partitionBounds(Date.now(), { delayMaxMs: 400 * 86_400_000 }) });
    await database.text(WITNESS);
  } finally {
    await database.close();
  }
}

const BATCH = 500;
const AT_ONCE = 25;
const SOON_AGAIN = { 'Upstash-Retry-Delay': '500' };
const POLL_MS = 50;
/** Schedules are paused when none is later than this. */
const ON_TIME_MS = 900;

class Scenario implements CrashScenario {
  readonly node: TestNodeProcess;
  readonly receiver: Receiver;
  readonly databaseUrl: string;
  readonly accepted: string[] = [];
  readonly #created = new Map<string, number>();
  readonly #drop: () => Promise<void> | undefined;
  readonly #pool: pg.Pool;
  #seconds: EverySecond[] = [];

  constructor(node: TestNodeProcess, receiver: Receiver, databaseUrl: string, drop: () => Promise<void> | undefined) {
    this.node = node;
    this.receiver = receiver;
    this.databaseUrl = databaseUrl;
    this.#drop = drop;
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
    this.#pool.on('error', () => undefined);
  }

  async publish(count: number, path: string, headers: Record<string, string> = {}): Promise<string[]> {
    const ids: string[] = [];
    for (let left = count; left > 0; left -= BATCH) {
      const item = { destination: this.receiver.url + path, headers, body: 'work' };
      const body = JSON.stringify(Array.from({ length: Math.min(left, BATCH) }, () => item));
      const response = await this.node.call('POST', '/v2/batch', {
        body,
        headers: { 'content-type': 'application/json' },
      });
      const answers = (await response.json()) as { messageId?: string }[];
      if (response.status !== 200) throw new Error(`batch answered ${response.status}: ${JSON.stringify(answers)}`);
      ids.push(...answers.map(({ messageId }) => messageId ?? ''));
    }
    this.accepted.push(...ids);
    return ids;
  }

  async tryPublish(path: string, headers: Record<string, string> = {}): Promise<string | null> {
    const counts = { accepted: 0, unavailable: 0, broken: 0 };
    await this.#publishOne(path, headers, counts);
    return counts.accepted === 1 ? (this.accepted.at(-1) ?? null) : null;
  }

  async #publishOne(path: string, headers: Record<string, string>, counts: Trickle['counts']): Promise<void> {
    try {
      const url = `/v2/publish/${this.receiver.url}${path}`;
      const response = await this.node.call('POST', url, { headers, body: 'work' });
      const answer = (await response.json()) as { messageId?: string };
      if ((response.status === 200 || response.status === 202) && answer.messageId !== undefined) {
        this.accepted.push(answer.messageId);
        counts.accepted += 1;
      } else if (response.status === 503 && Number(response.headers.get('retry-after')) > 0) {
        counts.unavailable += 1;
      } else {
        throw new Error(`publish answered ${response.status}: ${JSON.stringify(answer)}`);
      }
    } catch (error) {
      // The node is gone, or answered as it never should: that is for the test to say.
      if (process.env.CARILLON_TEST_LOG !== undefined) process.stderr.write(`publish: ${String(error)}\n`);
      counts.broken += 1;
    }
  }

  trickle(paths: readonly string[], everyMs: number): Trickle {
    const counts = { accepted: 0, unavailable: 0, broken: 0 };
    const stopping = new AbortController();
    const running = (async () => {
      for (let index = 0; !stopping.signal.aborted; index++) {
        const [path = '/', delayed = ''] = (paths[index % paths.length] ?? '').split(' ');
        const headers = { ...SOON_AGAIN, ...(delayed === '' ? {} : { 'Upstash-Delay': delayed }) };
        await this.#publishOne(path, headers, counts);
        await delay(everyMs);
      }
    })();
    return {
      counts,
      stop: async () => {
        stopping.abort();
        await running;
      },
    };
  }

  async everySecond(count: number, prefix: string, path: string, headers: Record<string, string> = {}): Promise<void> {
    const ids = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    await inTurn(ids, async (id) => {
      const response = await this.node.call('POST', `/v2/schedules/${this.receiver.url}${path}`, {
        headers: { 'Upstash-Cron': '* * * * * *', 'Upstash-Schedule-Id': id, ...headers },
      });
      if (response.status >= 300) throw new Error(`schedule ${id}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
      this.#created.set(id, Date.now());
    });
  }

  async stopSeconds(): Promise<void> {
    await this.#until(
      `every schedule to be on time`,
      sized(60_000, 400_000),
      `select count(*)::integer as left from schedules
       where state = 'active' and next_fire_at < now() - interval '${ON_TIME_MS} milliseconds'`,
    );
    const untilMs = Date.now() - 2_000;
    await inTurn([...this.#created.keys()], async (id) => {
      const response = await this.node.call('POST', `/v2/schedules/${id}/pause`);
      if (response.status >= 300) throw new Error(`pausing ${id}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    });
    this.#seconds = [...this.#created].map(([scheduleId, createdAtMs]) => ({ scheduleId, createdAtMs, untilMs }));
  }

  async settled({ timeoutMs = 60_000, except = '' }: { timeoutMs?: number; except?: string } = {}): Promise<number> {
    const startedAtMs = performance.now();
    const countLeft = `select count(*)::integer as left from messages where state = 'pending' and destination not like $1`;
    await this.#until('all to end', timeoutMs, countLeft, [except]);
    return performance.now() - startedAtMs;
  }

  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, values)).rows;
  }

  async judge(more: Partial<Case> = {}): Promise<Verdict> {
    return judge({
      databaseUrl: this.databaseUrl,
      calls: await this.receiver.calls(),
      lives: this.node.lives,
      accepted: this.accepted,
      seconds: this.#seconds,
      ...more,
    });
  }

  async stop(): Promise<void> {
    await this.node.stop();
    await this.receiver.stop();
    await this.#pool.end();
    await this.#drop();
  }

  async #until(what: string, timeoutMs: number, countLeft: string, values: unknown[] = []): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const [row] = await this.query<{ left: number }>(countLeft, values);
      if (row?.left === 0) return;
      if (performance.now() > deadlineMs) throw new Error(`waited ${timeoutMs} ms for ${what}: ${row?.left} are left`);
      await delay(POLL_MS);
    }
  }
}

async function inTurn(ids: readonly string[], work: (id: string) => Promise<void>): Promise<void> {
  const rest = ids.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const id of rest) await work(id);
    }),
  );
}
