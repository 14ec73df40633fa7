// Wrong clusters, as in mutations.ts: each takes away something by which schedules are fired once, in time, and as they are now.

import type { FaultKind } from './faults.js';
import { EVERY_FAULT } from './faults.js';
import type { Mutation } from './mutations.js';
import type { Statement, Values } from './statement.js';
import type { TableServer } from './table-server.js';
import { scheduleKey, View } from './tables.js';
import { FAR } from './timely.js';

/** Transactions that end without a commit, or whose commit nobody hears of. */
const CUT_OFF: readonly FaultKind[] = ['freeze in transaction', 'freeze', 'table away', 'break', 'cut from one store'];

/** The parameters of fire-schedules.sql, by their places. */
const FIRED = { tenants: 2, ids: 3, generations: 4, expected: 5 } as const;
/** Those of insert-messages.sql. */
const INSERTED = { id: 0, kind: 3, state: 4 } as const;

function changing(table: TableServer, name: string, change: (statement: Statement) => Statement): void {
  const statement = table.statements[name];
  if (statement === undefined) throw new Error(`there is no model of ${name}.sql`);
  table.statements[name] = change(statement);
}

/** The statement is given other parameters. */
function given(change: (view: View, values: Values) => Values): (statement: Statement) => Statement {
  return ({ run, locks }) => ({
    run: (view, values, isFree) => run(view, change(view, values), isFree),
    locks: (view, values, isFree) => locks?.(view, change(view, values), isFree) ?? [],
  });
}

/** What the statement does is committed at once, whatever becomes of its transaction. */
function atOnce(table: TableServer): (statement: Statement) => Statement {
  return (statement) => ({
    ...statement,
    run: (_view, values, isFree) => {
      const view = new View(table.tables);
      const rows = statement.run(view, values, isFree);
      table.transactions.onCommit(view.commit(table.world.nowMs));
      return rows;
    },
  });
}

/** A firing with what stands in the rows now in the place of what was read. */
function asItIsNow(view: View, values: Values): Values {
  const rows = (values[FIRED.ids] as string[]).map((id, index) =>
    view.get('schedules', scheduleKey((values[FIRED.tenants] as number[])[index] ?? 0, id)),
  );
  return Object.assign([...values], {
    [FIRED.generations]: rows.map((row) => row?.generation ?? 0),
    [FIRED.expected]: rows.map((row) => row?.next_fire_at ?? null),
  });
}

/** Rows that are inserted, without some of them. */
function without(isUnwanted: (values: Values, index: number) => boolean): (view: View, values: Values) => Values {
  return (_view, values) =>
    (values as unknown[][]).map((column) => column.filter((_cell, index) => !isUnwanted(values, index)));
}

export const SCHEDULE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'generations are ignored by firing',
    faults: EVERY_FAULT,
    spoil: { table: (table) => changing(table, 'fire-schedules', given(asItIsNow)) },
  },
  {
    name: 'occurrences are recorded again when their schedule did not move on',
    faults: CUT_OFF,
    spoil: {
      table: (table) => {
        const isOfFiring = (values: Values): boolean =>
          (values[INSERTED.kind] as string[]).every((kind) => kind === 'occurrence');
        const chanceIds = given((_view, values) =>
          Object.assign([...values], {
            [INSERTED.id]: (values[INSERTED.id] as string[]).map(
              (id) => id.slice(0, 16) + Buffer.from(table.world.chance.bytes(8)).toString('hex'),
            ),
          }),
        );
        changing(table, 'insert-messages', (statement) => {
          const wrong = atOnce(table)(chanceIds(statement));
          return {
            run: (view, values, isFree) => (isOfFiring(values) ? wrong : statement).run(view, values, isFree),
          };
        });
      },
    },
  },
  {
    name: 'schedules move on although their occurrences are not recorded',
    faults: CUT_OFF,
    spoil: { table: (table) => changing(table, 'fire-schedules', atOnce(table)) },
  },
  {
    name: 'skipped occurrences leave no row',
    faults: EVERY_FAULT,
    spoil: {
      table: (table) => {
        const isSkipped = (values: Values, index: number): boolean =>
          (values[INSERTED.state] as string[])[index] === 'skipped';
        changing(table, 'insert-messages', given(without(isSkipped)));
      },
    },
  },
  {
    name: 'a sweep stops one step short of the horizon that it marks as completed',
    ...FAR,
    spoil: {
      table: (table) => {
        const shorter = given((_view, values) => {
          const [shard, from, tenantId, id, until, limit] = values;
          return [shard, from, tenantId, id, Date.parse(until as string) - FAR.config.CARILLON_PROMOTE_EVERY_MS, limit];
        });
        changing(table, 'select-schedules-to-promote', shorter);
      },
    },
  },
  {
    name: 'occurrences under way are not looked for',
    faults: [],
    spoil: { table: (table) => (table.statements['select-under-way'] = { run: () => [] }) },
  },
  {
    name: 'a key is free as soon as its message has ended',
    faults: [],
    spoil: {
      table: (table) => {
        const now = given((_view, [tenants, keys, ids, until]) => [
          tenants,
          keys,
          ids,
          (until as number[]).map(() => 0),
        ]);
        changing(table, 'expire-keys', now);
      },
    },
  },
];
