// Loads the statements. Each is in a file of its own, beside the module that runs it, and its name is the file's name.
//
// A statement's parameters have names: `:tenantId`, in the text, becomes $1 and so on, the same name everywhere the same. A colon within a
// comment, a string, a quoted name or a cast (`::uuid`) begins none. A parameter that is an array or a time says its type by a cast where it
// stands (`:ids::uuid[]`, `:nowMs::timestamptz`): by it the value is written. Times are epoch milliseconds in parameters and in rows.
//
// Lines that begin with `--!` are directives:
//
//   --!include <name>          the text of another file, with its directives
//   --!fragment                this file is a part of statements, and none by itself
//   --!nullable :tenantId      this parameter may be null; `:errors[]`: an element of this array may be; `last_id`: this column may be
//   --!not-null count          this column is never null: PostgreSQL tells that only of the columns of tables
//   --!type :states MessageState    the type in TypeScript of a parameter (of its elements, for an array) or of a column
//
// All but the first are for `npm run sql-types`, which describes every statement to statements.ts.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Encoder, encoderOf } from './binary-arrays.js';
import { type NamedParameter, parseNamed } from './named-parameters.js';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
/** What the migrations come to, for people to read: no statement. */
const SCHEMA = 'schema.sql';
const INCLUDE = /^[ \t]*--!include ([a-z-]+)$/gm;
const DIRECTIVE = /^[ \t]*--!([a-z-]+)(?: (.+))?\n/gm;

/** Where each statement is, by its name. */
const files = new Map(
  readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql') && file !== SCHEMA && !file.startsWith('migrations'))
    .map((file) => [path.basename(file, '.sql'), path.join(FOLDER, file)]),
);

export interface Directive {
  readonly kind: string;
  readonly text: string;
}

export interface SqlParameter extends NamedParameter {
  /** Makes of a value what `pg` sends. */
  readonly encode: Encoder;
}

export interface SqlStatement {
  /** As PostgreSQL is sent it, with $1 and so on. */
  readonly text: string;
  /** In the order of their numbers. */
  readonly parameters: readonly SqlParameter[];
  readonly directives: readonly Directive[];
}

const loaded = new Map<string, SqlStatement>();

/** The names of all statements. */
export function statementNames(): string[] {
  return [...files]
    .filter(([, file]) => !/^--!fragment$/m.test(readFileSync(file, 'utf8')))
    .map(([name]) => name)
    .sort();
}

/** Returns the statement `name`. Read once. */
export function sql(name: string): SqlStatement {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const whole = textOf(name);
  const directives = [...whole.matchAll(DIRECTIVE)].map(([, kind = '', text = '']) => ({ kind, text }));
  const { text, parameters } = parseNamed(whole.replace(DIRECTIVE, '').trim());
  const statement: SqlStatement = {
    text,
    parameters: parameters.map((parameter) => ({ ...parameter, encode: encoderOf(parameter.type) })),
    directives,
  };
  loaded.set(name, statement);
  return statement;
}

/** The text of a file without its leading comment, and with those that it includes. */
function textOf(name: string): string {
  const file = files.get(name);
  if (file === undefined) throw new Error(`there is no statement ${name}.sql below ${FOLDER}`);
  return readFileSync(file, 'utf8')
    .replace(/^(--(?!!).*\n)+/, '')
    .replace(INCLUDE, (_line, included: string) => textOf(included).trimEnd());
}
