// What must hold of messages' records, whatever goes wrong, looked at with each commit: one message a key, one callback
// an attempt.

import type { Message } from '../../src/domain/message.js';
import type { Acceptance } from '../../src/postgres/messages/accepts.js';
import type { PostgresServer } from './postgres-server.js';
import type { Change, Changes, MessageRow } from './tables.js';
import { TIMES } from './times.js';
import type { World } from './world.js';

export class RecordChecks {
  readonly #world: World;
  readonly #table: PostgresServer;
  /** Messages by their keys. */
  readonly #ofKey = new Map<string, string[]>();
  callbacks = 0;
  duplicates = 0;

  /** The time by which keys expire. */
  readonly #nowMs: () => number;

  constructor(world: World, table: PostgresServer, nowMs: () => number) {
    this.#world = world;
    this.#table = table;
    this.#nowMs = nowMs;
  }

  onCommit({ messages }: Changes): void {
    const born = new Map<string, number>();
    for (const { before, after } of messages) {
      if (before !== null || after === null) continue;
      if (after.idempotency_key !== null && after.state !== 'skipped') this.#onKey(after.idempotency_key, after);
      if (after.source_id === null) continue;
      const name = `${after.source_id} ${after.kind}`;
      born.set(name, (born.get(name) ?? 0) + 1);
      this.callbacks += 1;
    }
    for (const change of messages) this.#checkCallbacks(change, born);
    for (const name of born.keys()) this.#world.violate(`a callback of ${name} was recorded without an attempt`);
  }

  onAccepted(message: Message, { messageId, deduplicated }: Acceptance): void {
    if (deduplicated) this.duplicates += 1;
    const row = this.#table.messages.get(messageId);
    if (row === undefined) this.#world.violate(`message ${messageId.slice(-6)} was accepted and is not there`);
    if (row !== undefined && row.idempotency_key !== message.idempotencyKey) {
      this.#world.violate(`message ${messageId.slice(-6)} was taken for a repeat of one with another key`);
    }
  }

  /** A key is for one message until that has ended, and for a while longer. */
  #onKey(key: string, row: MessageRow): void {
    const others = this.#ofKey.get(key) ?? [];
    for (const id of others) {
      const other = this.#table.messages.get(id);
      if (other === undefined) continue;
      const untilMs = (other.finished_at ?? Infinity) + TIMES.idempotencyMs;
      // What a node takes for the present may be a little behind what another did.
      if (other.state !== 'pending' && untilMs <= this.#nowMs() + TOLERANCE_MS) continue;
      this.#world.violate(`messages ${id.slice(-6)} and ${row.id.slice(-6)} have the key "${key}" at the same time`);
    }
    this.#ofKey.set(key, [...others, row.id]);
  }

  /** Each outcome that was recorded brings the callback that was asked for, and the last one that of a failure. */
  #checkCallbacks({ before, after }: Change<MessageRow>, born: Map<string, number>): void {
    if (before === null || after === null || after.started_at === before.started_at) return;
    const expected = [
      ...(after.options?.callback == null ? [] : ['callback']),
      ...(after.options?.failureCallback == null || after.state !== 'failed' ? [] : ['failure-callback']),
    ];
    for (const kind of expected) {
      const name = `${after.id} ${kind}`;
      if (born.get(name) !== 1) {
        this.#world.violate(`message ${after.id.slice(-6)} has ${born.get(name) ?? 0} of ${kind} for an attempt`);
      }
      born.delete(name);
    }
  }
}

const TOLERANCE_MS = 50;
