/** Writes rows of the record straight into a fresh database, and serves the API over it: for tests of what readers see. */
import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { pino } from 'pino';
import { buildApp } from '../../src/api/app.js';
import type { ClusterView } from '../../src/api/services.js';
import { configWith } from '../../src/config.js';
import { fromUuid, messageId, type MessageId } from '../../src/domain/ids.js';
import type { CallbackSpec, MessageKind, MessageState } from '../../src/domain/message.js';
import type { DeadLetterRetry, Intake } from '../../src/intake/intake.js';
import { Database } from '../../src/postgres/database.js';
import type { DeliveryOptions } from '../../src/postgres/messages/delivery-options.js';
import { messageColumns, pending } from '../../src/postgres/messages/message-columns.js';
import { ReadPool, type BoundedReads, type ReadSettings } from '../../src/postgres/reads.js';
import { migrate } from '../../src/postgres/migrate.js';
import { NO_FIGURES } from './figures.js';
import { freshDatabase } from './stores.js';
import { timestamp } from './timestamp.js';
import { processTime } from '../../src/time/process-time.js';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A row of `messages`: what is not given has a plain value. Times are epoch milliseconds. */
export interface RowSpec {
  readonly id?: MessageId;
  readonly tenantId?: number;
  readonly shard?: number;
  readonly kind?: MessageKind;
  readonly state?: MessageState;
  readonly reason?: string | null;
  readonly inDlq?: boolean;
  readonly scheduleId?: string | null;
  readonly occurrenceAtMs?: number | null;
  readonly coversUntilMs?: number | null;
  readonly idempotencyKey?: string | null;
  readonly sourceId?: MessageId | null;
  readonly dueAtMs?: number;
  readonly createdAtMs?: number;
  readonly startedAtMs?: number | null;
  readonly finishedAtMs?: number | null;
  readonly nextAttemptAtMs?: number;
  readonly attempts?: number;
  readonly lastStatus?: number | null;
  readonly lastError?: string | null;
  readonly lastHeaders?: Record<string, string[]> | null;
  readonly lastBody?: Buffer | null;
  readonly node?: string | null;
  readonly destination?: string;
  readonly method?: string;
  readonly headers?: Record<string, string[]>;
  readonly body?: Buffer;
  readonly maxRetries?: number;
  readonly timeoutMs?: number;
  readonly labels?: string[] | null;
  readonly options?: (DeliveryOptions & { callback?: CallbackSpec }) | null;
}

export interface AttemptSpec {
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly status?: number | null;
  readonly error?: string | null;
  readonly headers?: Record<string, string[]> | null;
  readonly body?: Buffer | null;
  readonly nextAttemptAtMs?: number | null;
}

/** What the answers of all routes have, taken together: a test looks at the part it asked for. */
export interface AnswerBody {
  readonly error: string;
  readonly cursor?: string;
  readonly messages: Shown[];
  readonly events: Shown[];
  readonly logs: Shown[];
  readonly runs: Shown[];
  readonly responses: readonly { readonly messageId: string }[];
  readonly messageId: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly header: Record<string, string[]>;
  readonly request: { readonly body: string };
  readonly deleted: number;
  readonly failedAttempts: readonly unknown[];
  readonly dlqId?: string;
}

/** A message, event or run in a list. */
export interface Shown {
  readonly messageId: string;
  readonly dlqId: string;
  readonly state: string;
  readonly time: number;
  readonly [name: string]: unknown;
}

export interface Answer {
  readonly status: number;
  readonly json: AnswerBody;
  readonly text: string;
}

/** A database with the schema and two tenants, and the API over it. */
/** A node that is alone and owns nothing. */
export const NO_CLUSTER: ClusterView = { members: () => [], owners: () => [], drain: () => Promise.resolve() };

export class Records {
  readonly tenants: readonly [number, number];
  readonly #tokens = new Map<number, string>();

  private constructor(
    readonly database: Database,
    readonly reads: ReadPool,
    readonly app: FastifyInstance,
    /** What the API takes for the present time. */
    readonly clock: { nowMs: () => number; value: number },
    tokens: readonly (readonly [number, string])[],
    private readonly dropDatabase: () => Promise<void>,
  ) {
    for (const [tenant, token] of tokens) this.#tokens.set(tenant, token);
    this.tenants = [tokens[0]![0], tokens[1]![0]];
  }

  /** `nowMs` is the present; partitions reach `weeks` to either side of it. */
  static async open(nowMs: number, weeks = 6, reading: Partial<ReadSettings> = {}): Promise<Records> {
    const { url, drop } = await freshDatabase();
    const database = new Database({ time: processTime, url, poolSize: 4, timeoutMs: 30_000, onError: () => undefined });
    const reach = weeks * 7 * DAY;
    await migrate(database, { shards: 16, fromMs: nowMs - reach, untilMs: nowMs + reach });
    const reads = openReads(url, reading);
    const clock = { value: nowMs, nowMs: () => clock.value };
    const config = configWith({ CARILLON_SHARDS: 16, CARILLON_SWEEP_BATCH: 10, CARILLON_CANCEL_MAX: 500 });
    const app = buildApp({
      config,
      clock,
      time: processTime,
      random: (bytes) => randomBytes(bytes),
      database,
      reads,
      intake: new DatabaseIntake(database, clock) as unknown as Intake,
      logger: pino({ level: 'silent' }),
      cluster: NO_CLUSTER,
      health: { ready: () => ({ ok: true }), leaving: () => false },
      metrics: NO_FIGURES,
    });
    await app.ready();
    const tokens = await Promise.all(['one', 'two'].map((name) => makeTenant(database, name)));
    return new Records(database, reads, app, clock, tokens, drop);
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.database.close();
    await this.reads.close();
    await this.dropDatabase();
  }

  get nowMs(): number {
    return this.clock.value;
  }

  /** Reads as a route does, for the first tenant. */
  async read<Result>(work: (reads: BoundedReads) => Promise<Result>): Promise<Result> {
    const { signal } = new AbortController();
    return await this.reads.list({ tenantId: this.tenants[0], signal, narrowBy: '' }, work);
  }

  /** Inserts messages; gives their ids. */
  async insert(...specs: RowSpec[]): Promise<MessageId[]> {
    const rows = specs.map((spec) => this.#row(spec));
    const columns = Object.keys(rows[0]!);
    const values = rows.flatMap((row) => Object.values(row));
    const tuples = rows.map((_, index) => `(${columns.map((_, at) => `$${index * columns.length + at + 1}`).join()})`);
    await this.database.text(`insert into messages (${columns.join()}) values ${tuples.join()}`, values);
    return rows.map((row) => row.id as MessageId);
  }

  async insertAttempts(messageIdGiven: MessageId, ...attempts: AttemptSpec[]): Promise<void> {
    for (const attempt of attempts) {
      await this.database.run('insert-attempts', {
        messageIds: [messageIdGiven],
        attempts: [attempt.attempt],
        tenantIds: [this.tenants[0]],
        startedAtMs: [attempt.startedAtMs],
        finishedAtMs: [attempt.finishedAtMs],
        statuses: [attempt.status ?? null],
        errors: [attempt.error ?? null],
        headers: [attempt.headers == null ? null : JSON.stringify(attempt.headers)],
        bodies: [attempt.body ?? null],
        nextAttemptAtMs: [attempt.nextAttemptAtMs ?? null],
        nodes: ['node-1'],
      });
    }
  }

  /** A message that failed for good after one attempt, listed as a dead letter. */
  deadLetter(spec: RowSpec = {}): RowSpec {
    const dueAtMs = spec.dueAtMs ?? this.nowMs - MINUTE;
    return {
      state: 'failed',
      inDlq: true,
      dueAtMs,
      startedAtMs: dueAtMs + 10,
      finishedAtMs: dueAtMs + 20,
      attempts: 1,
      maxRetries: 0,
      lastStatus: 500,
      lastError: 'the receiver answered 500',
      ...spec,
    };
  }

  delivered(spec: RowSpec = {}): RowSpec {
    const dueAtMs = spec.dueAtMs ?? this.nowMs - MINUTE;
    return {
      state: 'delivered',
      dueAtMs,
      startedAtMs: dueAtMs + 5,
      finishedAtMs: dueAtMs + 25,
      attempts: 1,
      lastStatus: 200,
      ...spec,
    };
  }

  async get(url: string, tenant = this.tenants[0]): Promise<Answer> {
    return await this.call({ method: 'GET', url }, tenant);
  }

  async call(options: InjectOptions, tenant = this.tenants[0]): Promise<Answer> {
    const response = await this.app.inject({ ...options, headers: { ...this.headers(tenant), ...options.headers } });
    return { status: response.statusCode, text: response.body, json: JSON.parse(response.body) as AnswerBody };
  }

  /** Those of a request of a tenant, the first when left out. */
  headers(tenant = this.tenants[0]): { authorization: string } {
    return { authorization: `Bearer ${this.#tokens.get(tenant) ?? ''}` };
  }

  #row(spec: RowSpec): Record<string, unknown> {
    const dueAtMs = spec.dueAtMs ?? this.nowMs - MINUTE;
    return {
      id: spec.id ?? messageId(dueAtMs, randomBytes(10)),
      tenant_id: spec.tenantId ?? this.tenants[0],
      shard: spec.shard ?? 0,
      kind: spec.kind ?? 'message',
      state: spec.state ?? 'pending',
      reason: spec.reason ?? null,
      in_dlq: spec.inDlq ?? false,
      schedule_id: spec.scheduleId ?? null,
      occurrence_at: timestamp(spec.occurrenceAtMs ?? null),
      covers_until: timestamp(spec.coversUntilMs ?? null),
      idempotency_key: spec.idempotencyKey ?? null,
      source_id: spec.sourceId ?? null,
      due_at: timestamp(dueAtMs),
      next_attempt_at: timestamp(spec.nextAttemptAtMs ?? dueAtMs),
      created_at: timestamp(spec.createdAtMs ?? Math.min(dueAtMs, this.nowMs)),
      started_at: timestamp(spec.startedAtMs ?? null),
      finished_at: timestamp(spec.finishedAtMs ?? null),
      attempts: spec.attempts ?? 0,
      last_status: spec.lastStatus ?? null,
      last_error: spec.lastError ?? null,
      last_headers: spec.lastHeaders == null ? null : JSON.stringify(spec.lastHeaders),
      last_body: spec.lastBody ?? null,
      node: spec.node ?? null,
      destination: spec.destination ?? 'https://a.test/hook',
      method: spec.method ?? 'POST',
      headers: JSON.stringify(spec.headers ?? {}),
      body: spec.body ?? Buffer.alloc(0),
      max_retries: spec.maxRetries ?? 3,
      timeout_ms: spec.timeoutMs ?? 30_000,
      labels: spec.labels ?? null,
      options: spec.options == null ? null : JSON.stringify(spec.options),
    };
  }
}

/** Connections for reads, as many as a node has, with a budget that a busy machine does not spend. Close it. */
export function openReads(url: string, changes: Partial<ReadSettings> = {}): ReadPool {
  return new ReadPool({
    time: processTime,
    ...{ url, connections: 4, connectMs: 20_000, budgetMs: 10_000, tenantMax: 2, waitMs: 20_000 },
    onError: () => undefined,
    ...changes,
  });
}

async function makeTenant(database: Database, name: string): Promise<readonly [number, string]> {
  const token = `token-of-${name}-${randomBytes(8).toString('hex')}`;
  const [tenant] = await database.text<{ id: number }>('insert into tenants (name) values ($1) returning id', [name]);
  const hash = createHash('sha256').update(token).digest();
  await database.text("insert into tokens (hash, tenant_id, role) values ($1, $2, 'tenant')", [hash, tenant!.id]);
  return [tenant!.id, token];
}

/** The part of the intake that bulk operations use, with PostgreSQL alone: there is no queue to be told in these tests. */
class DatabaseIntake implements Pick<Intake, 'cancel' | 'retryDeadLetters'> {
  constructor(
    private readonly database: Database,
    private readonly clock: { nowMs: () => number },
  ) {}

  async cancel(tenantId: number, ids: readonly MessageId[]): Promise<MessageId[]> {
    const rows = await this.database.run('cancel-messages', { tenantId, ids, nowMs: this.clock.nowMs() });
    return rows.map((row) => fromUuid(row.id));
  }

  async retryDeadLetters(
    tenantId: number,
    retries: readonly DeadLetterRetry[],
  ): Promise<{ from: string; to: string }[]> {
    const from = retries.map((retry) => retry.from);
    const rows = await this.database.run('take-dead-letters', { tenantId, ids: from });
    const taken = new Set(rows.map((row) => fromUuid(row.id)));
    const due = retries.filter((retry) => taken.has(retry.from));
    await this.database.run('insert-messages', messageColumns(due.map((retry) => pending(retry.message))));
    return due.map((retry) => ({ from: retry.from, to: retry.message.id }));
  }
}
