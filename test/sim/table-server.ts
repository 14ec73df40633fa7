// A simulated table: epochs and messages, and what our statements (src/table/sql) do to them, by the statements' names.

import type { DispatchRow } from '../../src/table/message-columns.js';
import type { Caller } from './redis-server.js';
import { Server } from './server.js';
import type { World } from './world.js';

interface ShardEpoch {
  epoch: number;
  node: string | null;
}

export type MessageRow = DispatchRow & {
  /** How often it came to an end, and when it did first. */
  finished: number;
  endedAtMs: number;
  /** Of a canceled one: whether that was confirmed. */
  confirmed: boolean;
};

type Values = readonly unknown[];

export class TableServer extends Server {
  readonly shards: ShardEpoch[];
  readonly messages = new Map<string, MessageRow>();
  /** Changed by those who want to know what a wrong authority does. */
  readonly statements: Record<string, (values: Values) => object[]>;
  /** Told of messages that are read to be sent. */
  onRead: (ids: readonly string[], by: Caller) => void = () => undefined;
  /** Told of each grant. */
  onGrant: (shard: number, from: string | null, to: string) => void = () => undefined;

  constructor(world: World, shards: number) {
    super(world, 'table');
    this.shards = Array.from({ length: shards }, () => ({ epoch: 0, node: null }));
    this.statements = {
      'grant-epochs': ([node, shards]) =>
        (shards as number[]).map((shard) => this.#raise(shard, this.#of(shard).epoch + 1, node as string)),
      'renew-epochs': ([node, shards, held]) =>
        (shards as number[]).flatMap((shard, index) => {
          const { epoch, node: owner } = this.#of(shard);
          const isHeld = owner === node && epoch >= ((held as number[])[index] ?? 0);
          return isHeld ? [this.#raise(shard, epoch + 1, owner)] : [];
        }),
      'overtake-epochs': ([node, shards, stored]) =>
        (shards as number[]).flatMap((shard, index) => {
          const { epoch, node: owner } = this.#of(shard);
          if (owner !== node) return [];
          return [this.#raise(shard, Math.max(epoch, (stored as number[])[index] ?? 0) + 1, owner)];
        }),
      'select-overtaken-shards': ([shards, held]) =>
        (shards as number[]).flatMap((shard, index) =>
          this.#of(shard).epoch > ((held as number[])[index] ?? 0) ? [{ shard }] : [],
        ),
      'insert-messages': (values) => this.#insertMessages(values),
      'insert-new-messages': (values) => this.#insertMessages(values),
      'cancel-messages': ([, ids]) => this.#canceled(ids, 'pending', (row) => this.#cancel(row)),
      'select-unconfirmed-cancels': ([, ids]) => this.#canceled(ids, 'canceled', () => undefined),
      'confirm-cancels': ([, ids]) => this.#canceled(ids, 'canceled', (row) => (row.confirmed = true)),
      'select-dispatch': ([ids]) => (ids as string[]).flatMap((id) => copyOf(this.messages.get(id))),
      'record-outcomes': (values) => this.#recordOutcomes(values),
      'select-messages-to-promote': ([shard, fromId, untilId, horizon, limit]) =>
        this.#pending(shard)
          .filter(({ id }) => id >= (fromId as string) && id < (untilId as string))
          .filter(({ next_attempt_at }) => next_attempt_at < timeOf(horizon))
          .slice(0, limit as number),
      'select-messages-to-rescue': ([shard, afterId, untilId, overdue, createdBefore, limit]) =>
        this.#pending(shard)
          .filter(({ id }) => id > (afterId as string) && id < (untilId as string))
          .filter((row) => row.next_attempt_at <= timeOf(overdue) && row.created_at <= timeOf(createdBefore))
          .slice(0, limit as number),
      // Nothing of this is simulated.
      'select-schedules-to-promote': () => [],
      'release-held': () => [],
      'insert-attempts': () => [],
    };
  }

  run(name: string, values: Values, by: Caller): object[] {
    const statement = this.statements[name];
    if (statement === undefined) throw new Error(`the simulation has no model of ${name}.sql`);
    if (name === 'select-dispatch') this.onRead(values[0] as string[], by);
    return statement(values);
  }

  #of(shard: number): ShardEpoch {
    const row = this.shards[shard];
    if (row === undefined) throw new Error(`there is no shard ${shard}`);
    return row;
  }

  #raise(shard: number, epoch: number, node: string | null): object {
    this.onGrant(shard, this.#of(shard).node, node ?? '');
    this.shards[shard] = { epoch, node };
    this.world.note(`table grants ${shard} to ${node ?? ''} as ${epoch}`);
    return { shard, epoch };
  }

  #pending(shard: unknown): MessageRow[] {
    return [...this.messages.values()]
      .filter((row) => row.shard === shard && row.state === 'pending')
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Does something with messages of a state, of canceled ones with those that were not confirmed, and returns them as they are then. */
  #canceled(ids: unknown, state: string, change: (row: MessageRow) => unknown): object[] {
    return (ids as string[]).flatMap((id) => {
      const row = this.messages.get(id);
      if (row?.state !== state || row.confirmed) return [];
      change(row);
      return [{ ...row, body_bytes: row.body.length }];
    });
  }

  #cancel(row: MessageRow): void {
    this.world.note(`table cancels ${row.id.slice(-6)}`);
    row.state = 'canceled';
    row.finished += 1;
  }

  /** The columns in the order of insert-new-messages.sql. */
  #insertMessages(values: Values): object[] {
    const columns = values as unknown[][];
    (columns[0] ?? []).forEach((_id, index) => {
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
      const cell = <Value>(column: number): Value => columns[column]?.[index] as Value;
      const id = cell<string>(0);
      if (this.messages.has(id)) throw new Error(`message ${id} was inserted twice`);
      this.messages.set(id, {
        id,
        tenant_id: cell(1),
        shard: cell(2),
        kind: cell(3),
        state: cell(4),
        held: cell(6),
        schedule_id: cell(7),
        occurrence_at: null,
        overlap: null,
        idempotency_key: null,
        source_id: null,
        due_at: timeOf(cell(13)),
        next_attempt_at: timeOf(cell(13)),
        created_at: timeOf(cell(14)),
        attempts: 0,
        destination: cell(15),
        method: cell(16),
        headers: JSON.parse(cell(17)) as DispatchRow['headers'],
        body: cell(18),
        max_retries: cell(19),
        timeout_ms: cell(20),
        labels: null,
        options: cell<string | null>(22) === null ? null : (JSON.parse(cell(22)) as DispatchRow['options']),
        finished: 0,
        endedAtMs: Infinity,
        confirmed: false,
      });
    });
    return [];
  }

  #recordOutcomes(values: Values): object[] {
    const [ids, states, attempts] = values as [string[], string[], number[]];
    const nextAttempts = values[9] as (number | null)[];
    return ids.flatMap((id, index) => {
      const row = this.messages.get(id);
      const state = states[index] ?? '';
      if (row === undefined) return [];
      const isTaken = state === 'delivered' ? row.state !== 'delivered' : row.state === 'pending';
      if (!isTaken) return [];
      this.world.note(`table records ${id.slice(-6)} ${state} after ${attempts[index] ?? 0}`);
      // That a call succeeded is a fact, and corrects a row that another node gave up meanwhile: no second end.
      const isCorrection = row.state !== 'pending';
      row.state = state;
      row.attempts = Math.max(row.attempts, attempts[index] ?? 0);
      row.next_attempt_at = nextAttempts[index] == null ? row.next_attempt_at : timeOf(nextAttempts[index]);
      if (state !== 'pending') {
        if (!isCorrection) row.finished += 1;
        row.endedAtMs = Math.min(row.endedAtMs, this.world.nowMs);
      }
      return [{ id }];
    });
  }
}

function copyOf(row: MessageRow | undefined): MessageRow[] {
  return row === undefined ? [] : [{ ...row }];
}

function timeOf(value: unknown): number {
  return typeof value === 'number' ? value : Date.parse(value as string);
}
