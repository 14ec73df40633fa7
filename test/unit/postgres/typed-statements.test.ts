// Issue 13, entry 3: what a statement takes is checked by the compiler. `npm test` runs it on this file, and a line after "@ts-expect-error" that
// compiles is a fault.

import { describe, expect, it } from 'vitest';
import { type Row, statement } from '../../../src/postgres/database.js';

const ID = '0192f3a4b5c67d8e9fa0b1c2d3e4f506';

describe('a statement', () => {
  it('is sent the values of its parameters in the order of their numbers, however they are given', () => {
    const { text, values } = statement('select-message', { id: ID, tenantId: 7 });
    expect(text).toContain('m.tenant_id = $1 and m.id = $2::uuid');
    expect(values).toEqual([7, ID]);
  });

  it('takes times in milliseconds', () => {
    const { values } = statement('record-token-use', { hash: Buffer.from('h'), nowMs: Date.UTC(2026, 0, 2) + 0.5 });
    expect(values).toContain('2026-01-02T00:00:00.001Z');
    const token = { hash: Buffer.from('h'), tenantId: null, role: 'admin' as const, label: '', tokensMax: 1 };
    expect(statement('insert-token', { ...token, expiresAtMs: null }).values).toEqual([
      ...[token.hash, null, 'admin', ''],
      ...[null, 1],
    ]);
  });

  it('takes no parameter where it has none', () => {
    expect(statement('select-shards').values).toEqual([]);
  });

  it('does not compile with anything else', () => {
    const wrong = [
      // @ts-expect-error: there is no such statement.
      () => statement('select-nothing', { id: ID }),
      // @ts-expect-error: a parameter is missing.
      () => statement('select-message', { id: ID }),
      // @ts-expect-error: a parameter has another name.
      () => statement('select-message', { id: ID, tenant: 7 }),
      // @ts-expect-error: a parameter has another type.
      () => statement('select-message', { id: ID, tenantId: '7' }),
      // @ts-expect-error: a parameter may not be null.
      () => statement('select-message', { id: null, tenantId: 7 }),
      // @ts-expect-error: there are none.
      () => statement('select-message'),
      // @ts-expect-error: it takes none.
      () => statement('select-shards', { shard: 1 }),
      // @ts-expect-error: values by their positions.
      () => statement('select-message', [7, ID]),
      // @ts-expect-error: a state that no message has.
      (): Row<'select-message'>['state'] => 'lost',
    ];
    expect(wrong).toHaveLength(9);
  });
});
