// What the statements do that find and fire schedules that are due (src/postgres/schedules/*.sql), by the statements'
// names.

import type { Params } from '../../src/postgres/database.js';
import type { ScheduleRow } from '../../src/postgres/schedules/schedule-row.js';
import { changed, scheduleOf } from './schedule-statements.js';
import { scheduleLock, shardLock, type StatementModels } from './statement.js';
import { rowsOf, timeOf, timeOrNull, type View } from './tables.js';

export const fireStatements: StatementModels = {
  'select-schedules-to-fire': {
    run: (view, { tenantIds, ids }) =>
      rowsOf({ tenantId: tenantIds, id: ids }).flatMap(({ tenantId, id }) => scheduleOf(view, tenantId, id)),
  },
  'select-schedules-to-promote': {
    run: (view, { shard, fromMs, afterTenantId, afterId, untilMs, limit }) => {
      const position: Place = [timeOf(fromMs), afterTenantId, afterId];
      return view
        .all('schedules')
        .filter((row) => row.shard === shard && row.state === 'active')
        .flatMap(({ next_fire_at, tenant_id, id, generation }) =>
          next_fire_at === null ? [] : [{ next_fire_at, tenant_id, id, generation }],
        )
        .filter((row) => row.next_fire_at < timeOf(untilMs) && isBefore(position, placeOf(row)))
        .sort((a, b) => (isBefore(placeOf(a), placeOf(b)) ? -1 : 1))
        .slice(0, limit);
    },
  },
  'fire-schedules': {
    run: (view, params) => {
      const current = currentShards(view, params);
      const advanced = advancing(view, params).map(({ row, fire }) => {
        changed(view, row.tenant_id, row.id, (before) => ({
          ...before,
          next_fire_at: timeOrNull(fire.nextAtMs),
          last_fire_at: timeOf(fire.lastAtMs),
          state: fire.nextAtMs === null ? 'ended' : before.state,
          error: null,
        }));
        return { shard: row.shard, tenant_id: row.tenant_id, id: row.id };
      });
      return [...current.map((shard) => ({ shard, tenant_id: null, id: null })), ...advanced];
    },
    locks: (view, params) => [
      ...currentShards(view, params).map((shard) => shardLock(shard, true)),
      ...advancing(view, params).map(({ row }) => scheduleLock(row.tenant_id, row.id)),
    ],
  },
};

function currentShards(view: View, { fencedShards, epochs }: Params<'fire-schedules'>): number[] {
  return rowsOf({ shard: fencedShards, epoch: epochs }).flatMap(({ shard, epoch }) =>
    view.get('shards', String(shard))?.epoch === epoch ? [shard] : [],
  );
}

interface Advance {
  readonly row: ScheduleRow;
  readonly fire: { readonly nextAtMs: number | null; readonly lastAtMs: number };
}

/** The schedules that a firing advances, each with what is to become of it. */
function advancing(view: View, params: Params<'fire-schedules'>): Advance[] {
  const current = new Set(currentShards(view, params));
  return rowsOf({
    ...{ tenantId: params.tenantIds, id: params.ids, generation: params.generations, shard: params.shards },
    ...{ expectedAtMs: params.expectedFireAtMs, nextAtMs: params.nextFireAtMs, lastAtMs: params.lastFireAtMs },
  }).flatMap((fire) =>
    scheduleOf(view, fire.tenantId, fire.id)
      .filter((row) => current.has(fire.shard) && row.generation === fire.generation && row.state === 'active')
      .filter((row) => row.next_fire_at === timeOrNull(fire.expectedAtMs))
      .map((row) => ({ row, fire })),
  );
}

type Place = readonly [atMs: number, tenantId: number, id: string];

function placeOf({ next_fire_at, tenant_id, id }: { next_fire_at: number; tenant_id: number; id: string }): Place {
  return [next_fire_at, tenant_id, id];
}

function isBefore(a: Place, b: Place): boolean {
  if (a[0] !== b[0]) return a[0] < b[0];
  return a[1] !== b[1] ? a[1] < b[1] : a[2] < b[2];
}
