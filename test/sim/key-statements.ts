// What the statements do that take, find and give back idempotency keys (src/postgres/messages/*-keys.sql), by the statements' names.

import { keyLock, type Statement, type Values } from './statement.js';
import type { RowLock } from './table-transactions.js';
import { keyKey, type KeyRow, rowsOf, timeOf, timeOrNull, type View } from './tables.js';

const KEY = ['tenant_id', 'scope', 'key'] as const;

type Given = Pick<KeyRow, (typeof KEY)[number]>;

export const keyStatements: Readonly<Record<string, Statement>> = {
  'claim-keys': {
    run: (view, values) => {
      const now = timeOf(values[5]);
      return rowsOf(values, [...KEY, 'message_id', 'expires_at']).flatMap((given) => {
        const { tenant_id, scope, key } = given as unknown as Given;
        const known = view.get('idempotency_keys', keyKey(tenant_id, scope, key));
        if (known !== undefined && (known.expires_at === null || known.expires_at > now)) return [];
        const row = { tenant_id, scope, key, message_id: given.message_id as string, created_at: now };
        view.put('idempotency_keys', keyKey(tenant_id, scope, key), {
          ...row,
          expires_at: timeOrNull(given.expires_at),
        });
        return [{ tenant_id, scope, key }];
      });
    },
    locks: locksOf,
  },
  'select-keys': {
    run: (view, values) =>
      rowsOf(values, KEY).flatMap((given) => {
        const row = rowOf(view, given as unknown as Given);
        if (row === undefined) return [];
        const { tenant_id, scope, key, message_id } = row;
        return [{ tenant_id, scope, key, message_id }];
      }),
  },
  'release-keys': {
    run: (view, values) => {
      for (const given of rowsOf(values, [...KEY, 'message_id'])) {
        const row = rowOf(view, given as unknown as Given);
        if (row !== undefined && row.message_id === given.message_id) view.remove('idempotency_keys', nameOf(row));
      }
      return [];
    },
    locks: locksOf,
  },
  'expire-keys': {
    run: (view, values) => {
      for (const given of rowsOf(values, ['tenant_id', 'key', 'message_id', 'expires_at'])) {
        const { tenant_id, key } = given as unknown as Given;
        const row = rowOf(view, { tenant_id, scope: 'key', key });
        if (row === undefined || row.message_id !== given.message_id) continue;
        view.put('idempotency_keys', nameOf(row), { ...row, expires_at: timeOf(given.expires_at) });
      }
      return [];
    },
    locks: (_view, values) =>
      rowsOf(values, ['tenant_id', 'key']).map(({ tenant_id, key }) => keyLock(tenant_id, 'key', key)),
  },
};

function locksOf(_view: View, values: Values): RowLock[] {
  return rowsOf(values, KEY).map(({ tenant_id, scope, key }) => keyLock(tenant_id, scope, key));
}

function rowOf(view: View, given: Given): KeyRow | undefined {
  return view.get('idempotency_keys', nameOf(given));
}

function nameOf({ tenant_id, scope, key }: Given): string {
  return keyKey(tenant_id, scope, key);
}
