// Arrays sent in binary form arrive as those sent as text, for every type that our statements take.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pg from 'pg';
import { encoderOf } from '../../../src/postgres/binary-arrays.js';
import { freshDatabase, type FreshDatabase } from '../../kit/stores.js';

let database: FreshDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await freshDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  uuid: ['0192f3a4b5c67d8e9fa0b1c2d3e4f506', null, 'ffffffffffffffffffffffffffffffff'],
  smallint: [0, -32_767, 32_767, null],
  integer: [0, -1, 2_147_483_647, null, -2_147_483_647],
  bigint: [0, -1, 2 ** 40 + 3, -(2 ** 40) - 3, Number.MAX_SAFE_INTEGER - 1, null],
  boolean: [true, null, false],
  text: ['', 'plain', 'quote " and \\ back', '{1,2}', 'NULL', null, 'Zürich 東京 🔔'],
  timestamptz: ['2026-11-30T02:45:00.123Z', '1999-12-31T23:59:59.999Z', '1970-01-01T00:00:00.000Z', null],
  bytea: [Buffer.from(''), Buffer.from([0, 255, 92, 34]), null],
  jsonb: ['{"a": ["b", 1, null]}', '"text"', null, '{"ü": "\\u0041"}'],
};

describe('an array parameter', () => {
  for (const [type, elements] of Object.entries(VALUES)) {
    const statement = `select $1::${type}[]::text as array`;
    const send = async (values: unknown[]): Promise<unknown> =>
      (await client.query<{ array: string }>(statement, values)).rows[0]?.array;

    it(`of ${type} says the same in binary form as in text`, async () => {
      for (const array of [elements, elements.slice(0, 1), [null], []]) {
        const binary = encoderOf(`${type}[]`)(array);
        expect(Buffer.isBuffer(binary)).toBe(true);
        expect(await send([binary])).toBe(await send([array]));
      }
    });
  }

  it('with an element that has no binary form is left as it was', () => {
    const cases: [string, unknown][] = [
      ['uuid', 'no id'],
      ['smallint', 32_768],
      ['integer', 1.5],
      ['timestamptz', 'infinity'],
      ['jsonb', { an: 'object' }],
    ];
    for (const [type, element] of cases) {
      const array = [element];
      expect(encoderOf(`${type}[]`)(array)).toBe(array);
    }
  });

  it('whose statement names no type is left as it was', () => {
    const array = ['a'];
    expect(encoderOf(null)(array)).toBe(array);
  });
});
