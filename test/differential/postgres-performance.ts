// What a step of a comparison of PostgreSQL with its model does to a database, given what the model has. Steps go
// through the functions that our code calls, so that each statement gets the parameters and the transaction that it
// gets there.

import { messageId, messageIdFloor } from '../../src/domain/ids.js';
import { planOccurrences } from '../../src/domain/occurrence.js';
import type { Schedule } from '../../src/domain/schedule.js';
import { stateAfterResume, stateAfterSave } from '../../src/domain/schedule-change.js';
import type { Database } from '../../src/postgres/database.js';
import { acceptGroup, type KeyClaim } from '../../src/postgres/messages/accepts.js';
import { cancelMessages, confirmCancels } from '../../src/postgres/messages/cancels.js';
import { deadLetterMessage, noteScheduleError } from '../../src/postgres/messages/dead-letter-message.js';
import { byId, messageColumns } from '../../src/postgres/messages/message-columns.js';
import { lookUntil, recordOutcomes, releaseHeld } from '../../src/postgres/messages/outcomes.js';
import { messagesToPromote, overdueMessages, schedulesToPromote } from '../../src/postgres/messages/sweep-reads.js';
import { type ClaimedSchedule, readClaimedSchedules } from '../../src/postgres/schedules/claimed-schedules.js';
import { recordFires } from '../../src/postgres/schedules/fires.js';
import { saveScheduleBatch } from '../../src/postgres/schedules/schedule-batches.js';
import { scheduleFromRow } from '../../src/postgres/schedules/schedule-row.js';
import { changeScheduleState, deleteSchedule, saveSchedule } from '../../src/postgres/schedules/schedules.js';
import { getSchedule } from '../../src/postgres/schedules/schedule-reads.js';
import { grantEpochs, supersededShards, supersedeEpochs, renewEpochs } from '../../src/postgres/shards/epochs.js';
import { aMessage, anOutcome } from '../kit/messages.js';
import type { PostgresServer } from '../sim/postgres-server.js';
import { scheduleKey } from '../sim/tables.js';
import { definition, message } from './postgres-fixtures.js';
import { ANY_FROM, FREQUENT, SHARDS, type Step } from './postgres-steps.js';

/** What a step may look at: what the model has, the time, and what was read of schedules before. */
export interface Given {
  readonly server: PostgresServer;
  readonly startMs: number;
  nowMs: number;
  readonly read: Map<string, ClaimedSchedule>;
}

type Perform = (database: Database) => Promise<unknown>;

const KEPT = { deduplicationMs: 1_500, idempotencyMs: 1_500 };
const POLICY = { misfireGraceMs: 3_000, maxOccurrences: 4, maxWaiting: 2 };
const KEYS: readonly KeyClaim[] = [
  { scope: 'deduplication', key: 'd1' },
  { scope: 'content', key: 'd1' },
  { scope: 'deduplication', key: 'd2' },
];

/** What a step does, the same to either database. Null: nothing. */
export function performanceOf(step: Step, given: Given): Perform | null {
  const { nowMs } = given;
  const idOf = (pick: number): string => {
    const ids = [...given.server.messages.keys()].sort();
    const known = message(pick % FREQUENT, given.startMs).id;
    // Some again and again, so that much happens to them; and now and then any other.
    if (pick < ANY_FROM && given.server.messages.has(known)) return known;
    return ids[pick % ids.length] ?? messageIdFloor(nowMs);
  };
  switch (step.kind) {
    case 'advance':
      given.nowMs += step.ms;
      return null;
    case 'cancel': {
      const ids = [...new Set(step.picks.map(idOf))];
      return (database) => cancelMessages(database, 1, ids, { nowMs, keysUntilMs: nowMs + KEPT.idempotencyMs });
    }
    case 'confirm': {
      const ids = step.picks.map(idOf);
      return (database) => confirmCancels(database, 1, ids);
    }
    case 'give-up': {
      const id = idOf(step.pick);
      return (database) => deadLetterMessage(database, id, 'why', { nowMs, keysUntilMs: nowMs + KEPT.idempotencyMs });
    }
    case 'dispatch': {
      const ids = step.picks.map(idOf);
      return async (database) => byId(await database.run('select-dispatch', { ids }));
    }
    case 'accept': {
      const submissions = step.items.map(({ index, keys }) => {
        const sent = message(index, given.startMs);
        const own: KeyClaim[] = sent.idempotencyKey === null ? [] : [{ scope: 'key', key: sent.idempotencyKey }];
        return { message: sent, keys: [...own, ...keys.flatMap((key) => KEYS[key] ?? [])] };
      });
      return (database) => acceptGroup(database, KEPT, nowMs, submissions);
    }
    case 'record':
      return recording(step, given, [...new Set(step.picks.map(idOf))]);
    case 'put': {
      // Of one schedule, in whatever state its occurrences can be.
      const dueAtMs = given.startMs + 300 * step.index;
      const id = messageId(dueAtMs, Buffer.alloc(10, 64 + step.index));
      const occurrence = aMessage({
        id,
        dueAtMs,
        kind: 'occurrence',
        scheduleId: 'a',
        overlap: step.overlap,
        occurrenceAtMs: dueAtMs,
      });
      const skipped = step.isSkipped ? { reason: 'misfire', coversUntilMs: dueAtMs + 1_000 } : null;
      return (database) =>
        database.run(
          'insert-messages',
          messageColumns([{ message: occurrence, held: step.held && !step.isSkipped, skipped }]),
        );
    }
    case 'grant':
    case 'renew':
    case 'overtake':
    case 'overtaken':
      return granting(step, given);
    case 'read-messages':
    case 'read-schedules':
      return sweeping(step, given);
    default:
      return scheduling(step, given);
  }
}

function shardOf(scheduleId: string): number {
  return scheduleId.charCodeAt(0) % SHARDS.length;
}

function recording(step: Extract<Step, { kind: 'record' }>, given: Given, ids: readonly string[]): Perform | null {
  const rows = ids.flatMap((id) => given.server.messages.get(id) ?? []);
  if (rows.length === 0) return null;
  const { state, attempt } = step;
  const outcomes = [...byId(rows).values()].map((sent, index) => {
    const dueAtMs = given.nowMs + 40;
    const born = aMessage({
      id: messageId(dueAtMs, Buffer.from(sent.id.slice(12), 'hex')),
      dueAtMs,
      kind: 'callback',
      sourceId: sent.id,
    });
    return anOutcome(sent, {
      ...{ state, attempt, startedAtMs: given.nowMs - 20.5, endedAtMs: given.nowMs },
      headers: index === 0 ? { 'X-Answer': ['1'] } : null,
      body: Buffer.from('answer'),
      nextAttemptAtMs: state === 'pending' ? given.nowMs + 700.5 : null,
      callbacks: step.callback && !given.server.messages.has(born.id) ? [born] : [],
    });
  });
  return (database) => recordOutcomes(database, KEPT, outcomes);
}

function granting(
  step: Extract<Step, { kind: 'grant' | 'renew' | 'overtake' | 'overtaken' }>,
  { server }: Given,
): Perform {
  if (step.kind === 'grant') return (database) => grantEpochs(database, step.node, step.shards);
  const held = new Map(step.shards.map((shard) => [shard, server.shard(shard).epoch + step.epochBy]));
  if (step.kind === 'overtaken') return async (database) => new Set(await supersededShards(database, held));
  const raise = step.kind === 'renew' ? renewEpochs : supersedeEpochs;
  return (database) => raise(database, step.node, held);
}

function sweeping(
  step: Extract<Step, { kind: 'read-messages' | 'read-schedules' }>,
  { nowMs, startMs }: Given,
): Perform {
  const { shard, limit } = step;
  if (step.kind === 'read-schedules') {
    const after = { atMs: startMs, tenantId: 1, id: 'a' };
    return (database) => schedulesToPromote(database, { shard, after, untilMs: nowMs + 2_500, limit });
  }
  const fromMs = startMs - 1_000 + step.fromMs;
  return async (database) => [
    await messagesToPromote(database, {
      ...{
        shard,
        limit,
        fromId: messageIdFloor(fromMs),
        untilId: messageIdFloor(nowMs + 1_000),
        horizonAtMs: nowMs + 900.5,
      },
    }),
    await overdueMessages(database, {
      ...{
        shard,
        limit,
        afterId: messageIdFloor(fromMs),
        untilId: messageIdFloor(nowMs + 1),
        overdueAtMs: nowMs - 100,
      },
      ...{ createdBeforeMs: nowMs - 2_000, occurrencesBeforeMs: nowMs - 1_000 },
    }),
  ];
}

function scheduling(
  step: Extract<Step, { kind: 'save' | 'batch' | 'pause' | 'resume' | 'delete' | 'note' | 'fire' | 'release' }>,
  given: Given,
): Perform {
  const { nowMs } = given;
  const tenantId = 1;
  if (step.kind !== 'fire' && 'id' in step) remember(given, step.id);
  switch (step.kind) {
    case 'save': {
      const wanted = { tenantId, id: step.id, shard: shardOf(step.id) };
      const saved = definition(step.index, given.startMs);
      const decide = (existing: Schedule | null) => stateAfterSave(existing, saved, nowMs);
      return (database) => saveSchedule(database, { ...wanted, definition: saved }, decide, nowMs);
    }
    case 'batch': {
      const wanted = step.items.map(({ id, index, paused }) => ({
        ...{ id, paused, shard: shardOf(id), definition: definition(index, given.startMs) },
      }));
      return async (database) => {
        const groups: unknown[] = [];
        const results = await saveScheduleBatch(database, tenantId, wanted, {
          decide: (item, existing) =>
            item.paused ? { state: 'paused', nextFireAtMs: null } : stateAfterSave(existing, item.definition, nowMs),
          nowMs,
          onGroup: async (placed) => void groups.push(await Promise.resolve(placed)),
        });
        return [results, groups];
      };
    }
    case 'pause':
      return (database) =>
        changeScheduleState(
          database,
          { tenantId, id: step.id },
          () => ({ state: 'paused', nextFireAtMs: null }),
          nowMs,
        );
    case 'resume':
      return (database) =>
        changeScheduleState(
          database,
          { tenantId, id: step.id },
          (existing) => (existing.state === 'paused' ? stateAfterResume(existing, nowMs) : null),
          nowMs,
        );
    case 'delete':
      return async (database) => [
        await getSchedule(database, tenantId, step.id),
        await deleteSchedule(database, { tenantId, id: step.id }, nowMs),
      ];
    case 'note':
      return (database) => noteScheduleError(database, { tenantId, id: step.id }, step.why);
    case 'release': {
      const schedules = step.ids.map((id) => ({ tenantId, scheduleId: id }));
      return (database) => releaseHeld(database, schedules, lookUntil(nowMs));
    }
    case 'fire':
      return firing(step, given);
  }
}

/** Keeps a schedule as it is before a change, for a firing that has read it and comes after. */
function remember({ server, read }: Given, id: string): void {
  const row = server.tables.schedules.get(scheduleKey(1, id));
  if (row !== undefined) read.set(id, { schedule: scheduleFromRow(row), underWay: false, waiting: 0 });
}

/** Reads schedules and fires them, or fires them as they were before they were changed last. */
function firing(step: Extract<Step, { kind: 'fire' }>, given: Given): Perform {
  const { nowMs, server, read } = given;
  const keys = step.ids.map((id) => ({ tenantId: 1, id }));
  const stale = step.ids.flatMap((id) => (step.isStale ? (read.get(id) ?? []) : []));
  return async (database) => {
    const fresh = await readClaimedSchedules(database, nowMs, keys);
    const claimed = step.isStale ? stale : fresh.filter((one) => one !== null);
    const fires = claimed
      .filter(({ schedule: { nextFireAtMs } }) => nextFireAtMs !== null && nextFireAtMs <= nowMs)
      .map((one) => {
        const epoch = server.shard(one.schedule.shard).epoch + step.epochBy;
        return { schedule: one.schedule, epoch, ...planOccurrences(one.schedule, one, POLICY, nowMs) };
      });
    return [fresh, fires.length === 0 ? [] : await recordFires(database, nowMs, fires)];
  };
}
