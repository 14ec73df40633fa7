/** Messages, outcomes and a recorder for tests of PostgreSQL, on a database of the test's own. */
import { randomBytes } from 'node:crypto';
import { ID_RANDOM_BYTES, messageId } from '../../src/domain/ids.js';
import type { Message } from '../../src/domain/message.js';
import type { Database } from '../../src/postgres/database.js';
import type { Outcome } from '../../src/postgres/messages/outcomes.js';
import { Recorder, type RecorderSettings } from '../../src/postgres/messages/recorder.js';
import { migratedDatabase, openDatabase } from './node.js';
import { processTime } from '../../src/time/process-time.js';

export interface OpenRecorder {
  readonly database: Database;
  readonly url: string;
  readonly tenantId: number;
  /** What the recorder takes for the present. */
  readonly clock: { value: number; nowMs: () => number };
  readonly recorder: Recorder;
  readonly refusals: unknown[];
  close(): Promise<void>;
}

export async function openRecorder(settings: Partial<RecorderSettings> = {}): Promise<OpenRecorder> {
  const fresh = await migratedDatabase();
  const database = openDatabase(fresh.url);
  const clock = { value: Date.now(), nowMs: () => clock.value };
  const refusals: unknown[] = [];
  const recorder = new Recorder(database, clock, {
    time: processTime,
    deduplicationMs: 600_000,
    idempotencyMs: 3_600_000,
    onAvailability: () => undefined,
    onRefusal: (error) => refusals.push(error),
    ...settings,
  });
  const rows = await database.text<{ id: number }>(`insert into tenants (name) values ('someone') returning id`);
  return {
    database,
    url: fresh.url,
    tenantId: rows[0]!.id,
    clock,
    recorder,
    refusals,
    close: async () => {
      recorder.stop();
      await database.close();
      await fresh.drop();
    },
  };
}

/** A message with plain values where none are given. */
export function aMessage(given: Partial<Message> = {}): Message {
  const dueAtMs = given.dueAtMs ?? Date.now();
  return {
    id: messageId(dueAtMs, randomBytes(ID_RANDOM_BYTES)),
    tenantId: 1,
    shard: 0,
    kind: 'message',
    scheduleId: null,
    occurrenceAtMs: null,
    idempotencyKey: null,
    sourceId: null,
    overlap: null,
    dueAtMs,
    createdAtMs: dueAtMs,
    destination: 'http://127.0.0.1:9/hook',
    method: 'POST',
    headers: { 'Content-Type': ['text/plain'] },
    body: Buffer.from('hello'),
    maxRetries: 3,
    retryDelay: null,
    timeoutMs: 30_000,
    callback: null,
    failureCallback: null,
    labels: [],
    redact: null,
    callerIp: null,
    ...given,
  };
}

/** A success at the first attempt, where nothing else is given. */
export function anOutcome(message: Message, given: Partial<Outcome> = {}): Outcome {
  const state = given.state ?? 'delivered';
  const endedAtMs = message.dueAtMs + 20;
  return {
    message,
    state,
    attempt: 1,
    status: state === 'delivered' ? 200 : 500,
    error: state === 'delivered' ? null : 'the destination answered 500',
    headers: null,
    body: null,
    startedAtMs: message.dueAtMs + 10,
    endedAtMs,
    nextAttemptAtMs: state === 'pending' ? endedAtMs + 1_000 : null,
    callbacks: [],
    node: 'node-under-test',
    ...given,
  };
}
