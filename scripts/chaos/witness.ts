/** Witnesses in the table: triggers note what the nodes change there, and the records are read at the end. Never by way of a node. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { FailedAttempt, Grant, MessageRecord, StateNote } from './evidence.js';

/** Notes changes of state and of ownership in the transaction that makes them: what was not committed is not noted. */
const TRIGGERS = `
  create table chaos_states (message_id uuid not null, state text not null, at timestamptz not null);
  create function chaos_note_state() returns trigger language plpgsql as $$
  begin
    insert into chaos_states values (new.id, new.state, clock_timestamp());
    return null;
  end $$;
  create trigger chaos_state after update of state on messages for each row
    when (old.state is distinct from new.state) execute function chaos_note_state();
  create table chaos_grants (
    number bigint generated always as identity, shard smallint not null, epoch bigint not null, node text, at timestamptz not null
  );
  create function chaos_note_grant() returns trigger language plpgsql as $$
  begin
    insert into chaos_grants (shard, epoch, node, at) values (new.shard, new.epoch, new.node, clock_timestamp());
    return null;
  end $$;
  create trigger chaos_grant after insert or update on shards for each row execute function chaos_note_grant();
  insert into chaos_grants (shard, epoch, node, at) select shard, epoch, node, coalesce(granted_at, now()) from shards where epoch > 0;
`;

const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;
const wireId = (column: string): string => `'msg_' || replace(${column}::text, '-', '')`;

const MESSAGES = `
  select ${wireId('id')} as "id", kind, state, reason, attempts, max_retries as "maxRetries", schedule_id as "scheduleId",
    ${ms('occurrence_at')} as "occurrenceAtMs", ${ms('covers_until')} as "coversUntilMs", ${ms('due_at')} as "dueAtMs",
    ${ms('created_at')} as "createdAtMs", destination
  from messages order by id`;
const ATTEMPTS = `
  select ${wireId('message_id')} as "messageId", attempt, status is not null as "answered",
    ${ms('next_attempt_at')} as "nextAttemptAtMs"
  from attempts`;
const STATES = `select ${wireId('message_id')} as "messageId", state, ${ms('at')} as "atMs" from chaos_states order by at`;
const GRANTS = `select shard, epoch::float8 as epoch, node, ${ms('at')} as "atMs" from chaos_grants order by number`;
/** What the receiver takes its time to answer (`hold` in the destination) is under way, not overdue. */
const OVERDUE = `
  select count(*)::integer as count from messages
  where state = 'pending' and not held and next_attempt_at <
    now() - ($1 + coalesce(substring(destination from '[?&]hold=([0-9]+)')::integer, 0)) * interval '1 millisecond'`;
const LATE_SCHEDULES = `
  select id from schedules
  where state = 'active' and (next_fire_at is null or next_fire_at < now() - $1 * interval '1 millisecond')`;

const OPEN_TRANSACTIONS = `
  select pid || ' ' || state_change as mark from pg_stat_activity
  where application_name like $1 and datname = current_database() and state = 'idle in transaction'`;

const RETRY_MS = 250;

export class Witness {
  readonly #pool: pg.Pool;

  constructor(postgresUrl: string) {
    this.#pool = new pg.Pool({ connectionString: postgresUrl, max: 2, connectionTimeoutMillis: 5_000 });
    this.#pool.on('error', () => undefined);
  }

  /** To be called once the tables are there. */
  async install(): Promise<void> {
    await this.#pool.query(TRIGGERS);
  }

  async messages(): Promise<MessageRecord[]> {
    return await this.#rows<MessageRecord>(MESSAGES);
  }

  async failedAttempts(): Promise<FailedAttempt[]> {
    return await this.#rows<FailedAttempt>(ATTEMPTS);
  }

  async stateNotes(): Promise<StateNote[]> {
    return await this.#rows<StateNote>(STATES);
  }

  async grants(): Promise<Grant[]> {
    return await this.#rows<Grant>(GRANTS);
  }

  /** How many unfinished messages are due since more than `forMs`; null when the table is unavailable. */
  async overdue(forMs: number): Promise<number | null> {
    const rows = await this.#rows<{ count: number }>(OVERDUE, [forMs], 1).catch(() => null);
    return rows === null ? null : (rows[0]?.count ?? 0);
  }

  async pending(): Promise<number> {
    const [row] = await this.#rows<{ count: number }>(
      `select count(*)::integer as count from messages where state = 'pending'`,
    );
    return row?.count ?? 0;
  }

  /** Active schedules that should have fired more than `forMs` ago; null when the table is unavailable. */
  async lateSchedules(forMs: number): Promise<string[] | null> {
    const rows = await this.#rows<{ id: string }>(LATE_SCHEDULES, [forMs], 1).catch(() => null);
    return rows === null ? null : rows.map(({ id }) => id);
  }

  /** A node's connections on which a transaction stands still, each with the time at which that began; null when the table is unavailable. */
  async openTransactions(node: string): Promise<string[] | null> {
    const rows = await this.#rows<{ mark: string }>(OPEN_TRANSACTIONS, [`carillon ${node}-%`], 1).catch(() => null);
    return rows === null ? null : rows.map(({ mark }) => mark);
  }

  async stop(): Promise<void> {
    await this.#pool.end();
  }

  /** The server may just have been restarted, which breaks connections that the pool still holds. */
  async #rows<Row extends object>(text: string, values: unknown[] = [], tries = 20): Promise<Row[]> {
    for (let left = tries; ; left--) {
      try {
        return (await this.#pool.query<Row>(text, values)).rows;
      } catch (error) {
        if (left <= 1) throw error;
        await delay(RETRY_MS);
      }
    }
  }
}
