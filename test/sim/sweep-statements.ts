// What the statements do that find messages for the sweeps, and let held occurrences go (src/postgres/messages/*.sql),
// by the statements' names.

import type { Params } from '../../src/postgres/database.js';
import { changed, isPending } from './message-statements.js';
import { messageLocks, type StatementModels } from './statement.js';
import { type MessageRow, picked, rowsOf, timeOf, type View } from './tables.js';

export const sweepStatements: StatementModels = {
  'select-messages-to-promote': {
    run: (view, { shard, fromId, untilId, horizonAtMs, limit }) =>
      pendingOf(view, shard)
        .filter(({ id }) => id >= fromId && id < untilId)
        .filter(({ held, next_attempt_at }) => !held && next_attempt_at < timeOf(horizonAtMs))
        .slice(0, limit)
        .map((row) => picked(row, ['id', 'next_attempt_at'])),
  },
  'select-messages-to-rescue': {
    run: (view, { shard, afterId, untilId, overdueAtMs, createdBeforeMs, occurrencesBeforeMs, limit }) =>
      pendingOf(view, shard)
        .filter(({ id }) => id > afterId && id < untilId)
        .filter(({ next_attempt_at }) => next_attempt_at <= timeOf(overdueAtMs))
        .filter(
          ({ kind, created_at }) =>
            created_at <= timeOf(createdBeforeMs) ||
            (kind === 'occurrence' && created_at < timeOf(occurrencesBeforeMs)),
        )
        .slice(0, limit)
        .map((row) => picked(row, ['id', 'next_attempt_at', 'held', 'tenant_id', 'schedule_id'])),
  },
  'release-held': {
    run: (view, params) =>
      changed(view, waitingFirst(view, params), isPending, (row) => ({ ...row, held: false })).flatMap(
        ({ schedule_id, ...row }) =>
          schedule_id === null ? [] : [{ schedule_id, ...picked(row, ['tenant_id', 'id', 'shard', 'due_at']) }],
      ),
    locks: (view, params) => messageLocks(waitingFirst(view, params)),
  },
  'select-under-way': {
    run: (view, { tenantIds, ids, untilId }) =>
      rowsOf({ tenant_id: tenantIds, id: ids }).flatMap((schedule) => {
        const rows = limitedOf(view, schedule, untilId);
        return rows.length === 0 ? [] : [{ ...schedule, waiting: rows.filter(({ held }) => held).length }];
      }),
  },
};

/** The held occurrences that go before all others of their schedules, where none is under way. */
function waitingFirst(view: View, { tenantIds, scheduleIds, untilId }: Params<'release-held'>): string[] {
  return rowsOf({ tenant_id: tenantIds, id: scheduleIds }).flatMap((schedule) => {
    const [first] = limitedOf(view, schedule, untilId).sort(
      (a, b) => Number(a.held) - Number(b.held) || (a.id < b.id ? -1 : 1),
    );
    return first?.held === true ? [first.id] : [];
  });
}

/** Pending occurrences of a schedule that are under an overlap policy. */
function limitedOf(view: View, schedule: { tenant_id: number; id: string }, untilId: string): MessageRow[] {
  return view
    .all('messages')
    .filter(({ tenant_id, schedule_id }) => tenant_id === schedule.tenant_id && schedule_id === schedule.id)
    .filter(({ state, overlap, id }) => state === 'pending' && overlap !== null && id < untilId);
}

function pendingOf(view: View, shard: number): MessageRow[] {
  return view
    .all('messages')
    .filter((row) => row.shard === shard && row.state === 'pending')
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}
