// What the statements do that take, find and give back idempotency keys (src/postgres/messages/*-keys.sql), by the
// statements' names.

import { keyLock, type StatementModels } from './statement.js';
import type { RowLock } from './postgres-transactions.js';
import { keyKey, type KeyRow, rowsOf, timeOf, timeOrNull, type View } from './tables.js';

type Name = Pick<KeyRow, 'tenant_id' | 'scope' | 'key'>;

interface Names {
  readonly tenantIds: readonly number[];
  readonly scopes: readonly string[];
  readonly keys: readonly string[];
}

export const keyStatements: StatementModels = {
  'claim-keys': {
    run: (view, { nowMs, messageIds, expiresAtMs, ...names }) => {
      const now = timeOf(nowMs);
      return rowsOf({ name: namesOf(names), id: messageIds, expiresAtMs }).flatMap(
        ({ name, id, expiresAtMs: until }) => {
          const known = rowOf(view, name);
          if (known !== undefined && (known.expires_at === null || known.expires_at > now)) return [];
          const row = { ...name, message_id: id, created_at: now, expires_at: timeOrNull(until) };
          view.put('idempotency_keys', nameOf(name), row);
          return [name];
        },
      );
    },
    locks: (_view, names) => locksOf(names),
  },
  'select-keys': {
    run: (view, names) =>
      namesOf(names).flatMap((name) => {
        const row = rowOf(view, name);
        return row === undefined ? [] : [{ ...name, message_id: row.message_id }];
      }),
  },
  'release-keys': {
    run: (view, { messageIds, ...names }) => {
      for (const { name, id } of rowsOf({ name: namesOf(names), id: messageIds })) {
        if (rowOf(view, name)?.message_id === id) view.remove('idempotency_keys', nameOf(name));
      }
      return [];
    },
    locks: (_view, names) => locksOf(names),
  },
  'expire-keys': {
    run: (view, { tenantIds, keys, messageIds, expiresAtMs }) => {
      for (const given of rowsOf({ tenant_id: tenantIds, key: keys, id: messageIds, expiresAtMs })) {
        const row = rowOf(view, { ...given, scope: 'key' });
        if (row === undefined || row.message_id !== given.id) continue;
        view.put('idempotency_keys', nameOf(row), { ...row, expires_at: timeOf(given.expiresAtMs) });
      }
      return [];
    },
    locks: (_view, { tenantIds, keys }) => locksOf({ tenantIds, keys, scopes: keys.map(() => 'key') }),
  },
};

function namesOf({ tenantIds, scopes, keys }: Names): Name[] {
  return rowsOf({ tenant_id: tenantIds, scope: scopes, key: keys });
}

function locksOf(names: Names): RowLock[] {
  return namesOf(names).map(({ tenant_id, scope, key }) => keyLock(tenant_id, scope, key));
}

function rowOf(view: View, name: Name): KeyRow | undefined {
  return view.get('idempotency_keys', nameOf(name));
}

function nameOf({ tenant_id, scope, key }: Name): string {
  return keyKey(tenant_id, scope, key);
}
