// What two versions share during a rolling upgrade stays as it is (issue 12; docs/operations.md, Upgrading). That a former release works with this
// code is not shown here: it is not started.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { scheduleEntry, shardKeys } from '../../../src/redis/keys.js';

const FOLDER = new URL('../../../src/postgres/migrations/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8');
const NAMES = readdirSync(FOLDER).sort();

/** Migrations that databases have by now; a change of one would reach new databases only. */
const APPLIED: Readonly<Record<string, string>> = {
  '0001_initial.sql': '5a32c2bc75a713e883daaf64f0363c92e91a89fd2138dfb981571f87dc35507e',
  '0002_lists_and_care.sql': '1905fb809d8d7f0b88620eeee66012d4aa40d8e4cdad104fb153f283a0603be7',
  '0003_tokens.sql': 'f878b1d978f1ac0016caa2266c7dcb7bdb572fedcd260cfb5677aa8f4a8bb027',
  '0004_depth_and_tenants.sql': '4e55707f38866158b2623cc40d07d16bdc145c83de19d06bb209e9c0d90a519e',
};

/** Returns what of a migration the release before it may not bear: what it takes away, renames or makes stricter. */
function contractions(sql: string): string[] {
  const statements = sql
    .replaceAll(/--.*$/gm, '')
    .toLowerCase()
    .split(/[;,]/)
    .map((part) => part.replaceAll(/\s+/g, ' ').trim());
  return statements.filter(
    (part) =>
      /\bdrop (table|column|function|type|view|default)\b|\brename\b|\bset not null\b|\bset data type\b/.test(part) ||
      /\balter column \S+ type\b|\badd (constraint|check|unique|primary|foreign)\b|\btruncate\b|\bcreate unique index\b/.test(
        part,
      ) ||
      (/\badd column\b/.test(part) && /\bnot null\b/.test(part) && !/\bdefault\b/.test(part)),
  );
}

describe('a rolling upgrade', () => {
  it('finds the migrations that were applied unchanged', () => {
    for (const [name, hash] of Object.entries(APPLIED)) {
      expect(createHash('sha256').update(read(name)).digest('hex'), name).toBe(hash);
    }
  });

  it('finds later migrations that only add, so that the version before works on', () => {
    for (const name of NAMES.filter((candidate) => !(candidate in APPLIED))) {
      expect(contractions(read(name)), name).toEqual([]);
    }
  });

  it.each([
    'alter table messages drop column held',
    'alter table messages add column a text, rename column b to c',
    'alter table messages add column a integer not null',
    'alter table schedules alter column id type text collate "C"',
    'alter table tokens alter column label set not null',
    'alter table tokens add constraint short check (length(label) < 10)',
    'create unique index one on tokens (label)',
    'drop table schedule_marks',
  ])('would be broken by: %s', (sql) => {
    expect(contractions(sql)).toHaveLength(1);
  });

  it.each([
    'alter table schedules add column error text',
    "alter table tokens add column source text not null default 'created'",
    'create index more on messages (tenant_id, due_at)',
    'create table runs (id uuid not null, primary key (id))',
    '-- drop table messages',
  ])('bears: %s', (sql) => {
    expect(contractions(sql)).toEqual([]);
  });

  it('finds the keys and entries of a shard under their names', () => {
    expect(shardKeys('c', 7)).toEqual({
      due: 'c:{7}:due',
      inflight: 'c:{7}:inflight',
      task: 'c:{7}:task',
      state: 'c:{7}:state',
      tomb: 'c:{7}:tomb',
    });
    expect(scheduleEntry(3, 'daily')).toBe('s:3:daily');
  });
});
