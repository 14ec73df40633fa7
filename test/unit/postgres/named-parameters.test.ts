// Issue 13, entry 3: parameters of statements have names, wherever a colon may stand for something else.

import { describe, expect, it } from 'vitest';
import { parseNamed } from '../../../src/postgres/named-parameters.js';
import { sql, statementNames } from '../../../src/postgres/sql.js';

const numbered = (source: string): string => parseNamed(source).text;

describe('a named parameter', () => {
  it('has the number of its first place, and the same in every other', () => {
    const { text, parameters } = parseNamed('select :b, :a, :b::uuid, :a where x > :c');
    expect(text).toBe('select $1, $2, $1::uuid, $2 where x > $3');
    expect(parameters.map(({ name }) => name)).toEqual(['b', 'a', 'c']);
  });

  it('has the type that a cast says in any of its places', () => {
    const { parameters } = parseNamed('select :ids = any(:ids::uuid[]), :at::timestamptz(3), :plain');
    expect(parameters).toEqual([
      { name: 'ids', type: 'uuid[]' },
      { name: 'at', type: 'timestamptz' },
      { name: 'plain', type: null },
    ]);
  });

  it('may stand beside anything that is no part of a name', () => {
    expect(numbered('f(:a,:b)||:c-:d')).toBe('f($1,$2)||$3-$4');
    expect(numbered('(x,y) > (:at,:id)')).toBe('(x,y) > ($1,$2)');
  });

  it.each([
    ['a cast', 'select a::uuid, b ::text[]'],
    ['a string', "select 'it''s :no'"],
    ['a string with backslashes', "select E'a\\':no'"],
    ['a pattern', "select x ~ '(?:[^/]*@)?'"],
    ['a quoted name', 'select ":no""t" from "a:b"'],
    ['a comment to the end of its line', "select 1 -- it's :no\n"],
    ['a comment', "select /* it's :no */ 1"],
    ['a comment within a comment', 'select /* a /* :no */ :no */ 1'],
    ['a comment without an end', 'select 1 /* :no'],
    ['a string between dollar signs', "do $$ select ':no', :no $$"],
    ['a string between tags', 'do $a$ :no $$ :no $b$ :no $a$'],
    ['a slice', 'select a[1:n], b[f(x):n]'],
    ['an assignment', 'x := 1'],
  ])('does not begin in %s', (_what, source) => {
    expect(parseNamed(source)).toEqual({ text: source, parameters: [] });
  });

  it('begins again after what it does not begin in', () => {
    expect(numbered("select /* ' */ :a, ':b' || :c, \"d:e\" /* \" */ = :f -- ':g\n, :h, $$:i$$, :j")).toBe(
      "select /* ' */ $1, ':b' || $2, \"d:e\" /* \" */ = $3 -- ':g\n, $4, $$:i$$, $5",
    );
  });

  it('is the only kind: one by its number is refused', () => {
    expect(() => parseNamed('select $1::uuid')).toThrow('a parameter has no name: $1 in select $1::uuid');
    expect(numbered("select '$1', a$1, $$ $1 $$")).toBe("select '$1', a$1, $$ $1 $$");
  });
});

describe('a statement', () => {
  it('has no directive left in its text', () => {
    const texts = statementNames().map((name) => sql(name).text);
    expect(texts.length).toBeGreaterThan(80);
    expect(texts.filter((text) => text.includes('--!'))).toEqual([]);
  });

  it('has the parameters and directives of what it includes', () => {
    const { parameters, directives } = sql('select-matching');
    expect(parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(['tenantId', 'ids', 'hosts', 'labels']));
    expect(directives).toContainEqual({ kind: 'type', text: ':states MessageState' });
  });

  it('that is not there is refused by its name', () => {
    expect(() => sql('select-nothing')).toThrow('there is no statement select-nothing.sql');
  });
});
