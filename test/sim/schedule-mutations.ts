// Wrong clusters, as in mutations.ts: each takes away something by which schedules are fired once, in time, and as they
// are now.

import type { Params, StatementName } from '../../src/postgres/database.js';
import { EVERY_FAULT, type FaultKind } from './faults.js';
import type { Mutation } from './mutations.js';
import type { StatementModel } from './statement.js';
import type { PostgresServer } from './postgres-server.js';
import { rowsOf, scheduleKey, View } from './tables.js';
import { FAR } from './timely.js';

/** Transactions that end without a commit, or whose commit nobody hears of. */
const CUT_OFF: readonly FaultKind[] = ['freeze in transaction', 'freeze', 'table away', 'break', 'cut from one store'];

type Change<Name extends StatementName> = (model: StatementModel<Name>) => StatementModel<Name>;

function changing<Name extends StatementName>(postgres: PostgresServer, name: Name, change: Change<Name>): void {
  const model: StatementModel<Name> | undefined = postgres.statements[name];
  if (model === undefined) throw new Error(`there is no model of ${name}.sql`);
  Object.assign(postgres.statements, { [name]: change(model) });
}

/** The statement is given other parameters. */
function given<Name extends StatementName>(change: (params: Params<Name>, view: View) => Params<Name>): Change<Name> {
  return ({ run, locks }) => ({
    run: (view, params, isFree) => run(view, change(params, view), isFree),
    locks: (view, params, isFree) => locks?.(view, change(params, view), isFree) ?? [],
  });
}

/** What the statement does is committed at once, whatever becomes of its transaction. */
function atOnce<Name extends StatementName>(postgres: PostgresServer): Change<Name> {
  return (model) => ({
    ...model,
    run: (_view, params, isFree) => {
      const view = new View(postgres.tables);
      const rows = model.run(view, params, isFree);
      postgres.transactions.onCommit(view.commit(postgres.world.nowMs));
      return rows;
    },
  });
}

/** A firing with what stands in the rows now in the place of what was read. */
function asItIsNow(params: Params<'fire-schedules'>, view: View): Params<'fire-schedules'> {
  const rows = rowsOf({ tenantId: params.tenantIds, id: params.ids }).map(({ tenantId, id }) =>
    view.get('schedules', scheduleKey(tenantId, id)),
  );
  return {
    ...params,
    generations: rows.map((row) => row?.generation ?? 0),
    expectedFireAtMs: rows.map((row) => row?.next_fire_at ?? null),
  };
}

/** Rows that are inserted, without those that are skipped. */
function withoutSkipped(params: Params<'insert-messages'>): Params<'insert-messages'> {
  const columns = Object.entries(params).map(([name, column]: [string, readonly unknown[]]) => [
    name,
    column.filter((_cell, index) => params.states[index] !== 'skipped'),
  ]);
  return Object.fromEntries(columns) as Params<'insert-messages'>;
}

export const SCHEDULE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'generations are ignored by firing',
    faults: EVERY_FAULT,
    mutant: { postgres: (postgres) => changing(postgres, 'fire-schedules', given(asItIsNow)) },
  },
  {
    name: 'occurrences are recorded again when their schedule did not move on',
    faults: CUT_OFF,
    mutant: {
      postgres: (postgres) => {
        // Under ids that nobody can compute again, and whatever becomes of the schedule.
        const randomIds = given<'insert-messages'>((params) => ({
          ...params,
          ids: params.ids.map((id) => id.slice(0, 16) + Buffer.from(postgres.world.random.bytes(8)).toString('hex')),
        }));
        changing(postgres, 'insert-messages', (model) => {
          const wrong = atOnce<'insert-messages'>(postgres)(randomIds(model));
          return {
            run: (view, params, isFree) => {
              const isOfFiring = params.kinds.every((kind) => kind === 'occurrence');
              return (isOfFiring ? wrong : model).run(view, params, isFree);
            },
          };
        });
      },
    },
  },
  {
    name: 'schedules move on although their occurrences are not recorded',
    faults: CUT_OFF,
    mutant: { postgres: (postgres) => changing(postgres, 'fire-schedules', atOnce(postgres)) },
  },
  {
    name: 'skipped occurrences leave no row',
    faults: EVERY_FAULT,
    mutant: { postgres: (postgres) => changing(postgres, 'insert-messages', given(withoutSkipped)) },
  },
  {
    name: 'a sweep stops one step short of the horizon that it marks as completed',
    ...FAR,
    mutant: {
      postgres: (postgres) => {
        const stepMs = FAR.config.CARILLON_PROMOTE_EVERY_MS;
        const shorter = given<'select-schedules-to-promote'>((params) => ({
          ...params,
          untilMs: params.untilMs - stepMs,
        }));
        changing(postgres, 'select-schedules-to-promote', shorter);
      },
    },
  },
  {
    name: 'occurrences under way are not looked for',
    faults: [],
    mutant: { postgres: (postgres) => changing(postgres, 'select-under-way', () => ({ run: () => [] })) },
  },
  {
    name: 'a key is free as soon as its message has ended',
    faults: [],
    mutant: {
      postgres: (postgres) => {
        const atEnd = given<'expire-keys'>((params) => ({ ...params, expiresAtMs: params.expiresAtMs.map(() => 0) }));
        changing(postgres, 'expire-keys', atEnd);
      },
    },
  },
];
