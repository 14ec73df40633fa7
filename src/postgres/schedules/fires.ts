// Firing: the occurrences of schedules recorded and the schedules advanced, in one fenced transaction.

import { fromUuid, type MessageId, toWireMessageId } from '../../domain/ids.js';
import type { Message } from '../../domain/message.js';
import { keyHeldReason } from '../../domain/occurrence.js';
import type { Schedule } from '../../domain/schedule.js';
import { claimKeys, type Submission } from '../messages/accepts.js';
import type { Database, Queryable } from '../database.js';
import { messageColumns, type NewMessage } from '../messages/message-columns.js';
import { lookUntil, type Released, releaseHeld } from '../messages/outcomes.js';

/** What is to be recorded for one schedule that was claimed. */
export interface Fire {
  readonly schedule: Schedule;
  readonly epoch: number;
  /** Null: no occurrence is left. */
  readonly nextFireAtMs: number | null;
  /** Nominal time of the latest occurrence handled. */
  readonly lastFireAtMs: number;
  readonly occurrences: readonly NewMessage[];
}

export interface Fired {
  /** `changed`: edited, paused or deleted meanwhile. `fenced`: the shard's epoch is another by now. Either way nothing was recorded. */
  readonly result: 'advanced' | 'changed' | 'fenced';
  /** The messages that are to be queued. */
  readonly messages: readonly Message[];
  /** Those of them that this firing recorded. Any other was recorded before, and may have been delivered. */
  readonly fresh: ReadonlySet<Message>;
  /** How many occurrences this firing recorded as messages, those that wait included. */
  readonly published: number;
  /** The reasons on the records of those that it skipped. */
  readonly skipped: readonly string[];
  /** Occurrences that were to wait, and need not. */
  readonly released: readonly Released[];
}

export async function recordFires(database: Database, nowMs: number, fires: readonly Fire[]): Promise<Fired[]> {
  const recorded = await database.transaction((connection) => recordAll(connection, nowMs, fires));
  const released = await releaseAfter(database, nowMs, recorded);
  return recorded.map(({ fire, ...fired }) => {
    const { tenantId, id } = fire.schedule;
    const own = released.filter((one) => one.tenantId === tenantId && one.scheduleId === id);
    return { ...fired, released: own };
  });
}

/**
 * What an occurrence was to wait for may have ended between the look at it and the commit; then nobody else lets it go. Either the
 * outcome, which looks after its own commit, sees what is held here, or this look sees the outcome.
 */
function releaseAfter(
  database: Database,
  nowMs: number,
  recorded: readonly RecordedFire[],
): ReturnType<typeof releaseHeld> {
  const waiting = recorded.filter(
    ({ result, fire }) => result === 'advanced' && fire.occurrences.some((occurrence) => occurrence.held),
  );
  return releaseHeld(
    database,
    waiting.map(({ fire }) => ({ tenantId: fire.schedule.tenantId, scheduleId: fire.schedule.id })),
    lookUntil(
      nowMs,
      waiting.flatMap(({ fire }) => fire.occurrences.map(({ message }) => message.dueAtMs)),
    ),
  );
}

type RecordedFire = Omit<Fired, 'released'> & { readonly fire: Fire };

async function recordAll(connection: Queryable, nowMs: number, fires: readonly Fire[]): Promise<RecordedFire[]> {
  const { advanced, current } = await advance(connection, fires);
  const moved = fires.filter((fire) => advanced.has(scheduleName(fire.schedule)));
  const occurrences = await withKeys(
    connection,
    moved.flatMap((fire) => fire.occurrences),
    nowMs,
  );
  const inserted = await insertOccurrences(connection, occurrences);
  for (const fire of moved.filter((candidate) => candidate.nextFireAtMs === null)) {
    const { tenantId, id, generation } = fire.schedule;
    await connection.run('insert-schedule-change', {
      ...{ tenantId, scheduleId: id, atMs: nowMs, generation },
      change: 'ended',
      detail: '{}',
    });
  }
  const byMessage = new Map(occurrences.map((occurrence) => [occurrence.message, occurrence]));
  return fires.map((fire) => {
    const own = fire.occurrences.flatMap(({ message }) => byMessage.get(message) ?? []);
    const messages = own.filter(isQueued).map(({ message }) => message);
    const recorded = own.filter(({ message }) => inserted.has(message.id));
    const skipped = recorded.flatMap((occurrence) => occurrence.skipped?.reason ?? []);
    const result = advanced.has(scheduleName(fire.schedule)) ? 'advanced' : 'changed';
    return {
      fire,
      result: current.has(fire.schedule.shard) ? result : 'fenced',
      messages,
      fresh: new Set(messages.filter((message) => inserted.has(message.id))),
      published: recorded.length - skipped.length,
      skipped,
    };
  });
}

async function insertOccurrences(connection: Queryable, occurrences: readonly NewMessage[]): Promise<Set<MessageId>> {
  if (occurrences.length === 0) return new Set();
  const rows = await connection.run('insert-messages', messageColumns(occurrences));
  return new Set(rows.map((row) => fromUuid(row.id)));
}

function isQueued(occurrence: NewMessage): boolean {
  return occurrence.skipped === null && !occurrence.held;
}

/** Gives the schedules that were advanced, and the shards whose epoch is current. */
async function advance(
  connection: Queryable,
  fires: readonly Fire[],
): Promise<{ advanced: Set<string>; current: Set<number> }> {
  const column = <Value>(value: (fire: Fire) => Value): Value[] => fires.map(value);
  const epochs = new Map(fires.map((fire) => [fire.schedule.shard, fire.epoch]));
  const rows = await connection.run('fire-schedules', {
    fencedShards: [...epochs.keys()],
    epochs: [...epochs.values()],
    tenantIds: column((fire) => fire.schedule.tenantId),
    ids: column((fire) => fire.schedule.id),
    generations: column((fire) => fire.schedule.generation),
    expectedFireAtMs: column((fire) => fire.schedule.nextFireAtMs),
    nextFireAtMs: column((fire) => fire.nextFireAtMs),
    lastFireAtMs: column((fire) => fire.lastFireAtMs),
    shards: column((fire) => fire.schedule.shard),
  });
  return {
    current: new Set(rows.filter((row) => row.id === null).map((row) => row.shard)),
    advanced: new Set(
      rows.flatMap(({ tenant_id: tenantId, id }) =>
        tenantId === null || id === null ? [] : [scheduleName({ tenantId, id })],
      ),
    ),
  };
}

/** Occurrences whose idempotency key is taken become the record of a skip: the work was done under another name. */
async function withKeys(
  connection: Queryable,
  occurrences: readonly NewMessage[],
  nowMs: number,
): Promise<NewMessage[]> {
  const keyed: Submission[] = [];
  const repeats = new Map<string, string>();
  const seen = new Map<string, string>();
  for (const { message, skipped } of occurrences) {
    if (skipped !== null || message.idempotencyKey === null) continue;
    const name = `${message.tenantId}\n${message.idempotencyKey}`;
    const holder = seen.get(name);
    if (holder !== undefined) repeats.set(message.id, holder);
    else keyed.push({ message, keys: [{ scope: 'key', key: message.idempotencyKey }] });
    seen.set(name, holder ?? message.id);
  }
  if (keyed.length === 0) return [...occurrences];
  const duplicates = await claimKeys(connection, keyed, () => null, nowMs);
  return occurrences.map((occurrence) => {
    const { message } = occurrence;
    const repeated = repeats.get(message.id);
    const holder = duplicates.get(repeated ?? message.id)?.holder ?? repeated;
    // Its own id holds the key: this occurrence was recorded before.
    if (holder === undefined || holder === message.id) return occurrence;
    const reason = keyHeldReason(message.idempotencyKey ?? '', toWireMessageId(holder));
    return { message, held: false, skipped: { reason, coversUntilMs: null } };
  });
}

function scheduleName(schedule: { tenantId: number; id: string }): string {
  return `${schedule.tenantId}\n${schedule.id}`;
}
