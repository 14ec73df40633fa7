// Writes src/postgres/statements.ts: the types of every statement's parameters and rows, as a migrated database describes them.

import type pg from 'pg';
import { format } from 'prettier';
import { sql, statementNames, type SqlStatement } from '../../src/postgres/sql.js';
import { describe, type DescribedColumn } from './describe.js';
import { COLUMN_TYPES, IMPORTS } from './domain-types.js';

/** How the values of PostgreSQL's types are read (database.ts), and what is sent for them. */
const ROW_TYPES: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Buffer',
  float8: 'number',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  jsonb: 'unknown',
  name: 'string',
  text: 'string',
  timestamptz: 'number',
  uuid: 'string',
};
/** JSON is sent as text. */
const PARAMETER_TYPES: Readonly<Record<string, string>> = { ...ROW_TYPES, jsonb: 'string' };

interface Column {
  readonly table: string;
  readonly name: string;
  readonly isNotNull: boolean;
}

/** What a database knows about itself. */
interface Catalog {
  /** Names of types by their numbers: those of arrays end with []. */
  readonly types: ReadonlyMap<number, string>;
  readonly columns: ReadonlyMap<string, Column>;
}

/** The text of statements.ts. */
export async function statementTypes(client: pg.Client): Promise<string> {
  const catalog = await readCatalog(client);
  const members: string[] = [];
  for (const name of statementNames()) members.push(await memberOf(client, catalog, name));
  const body = `export interface Statements {\n${members.join('')}}\n`;
  const text = `// Written by npm run sql-types: what each statement takes and returns, as a migrated database describes it.\n\n${importsOf(body)}\n${body}`;
  return await format(text, { parser: 'typescript', printWidth: 120, singleQuote: true });
}

async function memberOf(client: pg.Client, catalog: Catalog, name: string): Promise<string> {
  const statement = sql(name);
  const { parameters, columns } = await describe(client, statement.text).catch((error: unknown) => {
    throw new Error(`${name}.sql: ${String(error)}`, { cause: error });
  });
  const said = new Said(name, statement);
  const params = parameters.map((type, index) => {
    const { name: parameter, type: cast } = statement.parameters[index] ?? { name: '', type: null };
    const pgType = typeName(catalog, type);
    if ((pgType.endsWith('[]') || pgType === 'timestamptz') && cast === null) {
      throw new Error(`${name}.sql: :${parameter} is ${pgType} and has no cast, by which it would be written (sql.ts)`);
    }
    return `${parameter}: ${parameterType(pgType, `:${parameter}`, said)};`;
  });
  const row = columns.map((column) => `${column.name}: ${columnType(catalog, column, said)};`);
  said.checkAll();
  return `'${name}': { params: ${objectOf(params)}; row: ${objectOf(row)} };\n`;
}

function objectOf(members: readonly string[]): string {
  return members.length === 0 ? 'Record<string, never>' : `{${members.join('')}}`;
}

function parameterType(type: string, name: string, said: Said): string {
  const isArray = type.endsWith('[]');
  const base = isArray ? type.slice(0, -2) : type;
  const given = said.type(name);
  const plain = given ?? known(PARAMETER_TYPES, base, said.name);
  if (!isArray) return orNull(plain, said.isNullable(name));
  return orNull(`readonly (${orNull(plain, said.isNullable(`${name}[]`))})[]`, said.isNullable(name));
}

function columnType(catalog: Catalog, column: DescribedColumn, said: Said): string {
  const origin = catalog.columns.get(`${column.tableID}.${column.columnID}`);
  const type = typeName(catalog, column.dataTypeID);
  const isArray = type.endsWith('[]');
  const plain = known(ROW_TYPES, isArray ? type.slice(0, -2) : type, said.name) + (isArray ? '[]' : '');
  const ofColumn = origin === undefined ? undefined : COLUMN_TYPES[`${origin.table}.${origin.name}`];
  const isNullable = said.isNotNull(column.name) ? false : said.isNullable(column.name) || origin?.isNotNull !== true;
  return orNull(said.type(column.name) ?? ofColumn ?? plain, isNullable);
}

function orNull(type: string, isNullable: boolean): string {
  return isNullable ? `(${type}) | null` : type;
}

function known(types: Readonly<Record<string, string>>, type: string, name: string): string {
  const found = types[type];
  if (found === undefined)
    throw new Error(`${name}.sql: the type ${type} has none in TypeScript yet (statement-types.ts)`);
  return found;
}

function typeName(catalog: Catalog, oid: number): string {
  return catalog.types.get(oid) ?? `with the number ${oid}`;
}

/** What a statement's directives say. Whatever they name must be there. */
class Said {
  readonly name: string;
  readonly #nullable = new Set<string>();
  readonly #notNull = new Set<string>();
  readonly #types = new Map<string, string>();
  readonly #asked = new Set<string>();

  constructor(name: string, { directives }: SqlStatement) {
    this.name = name;
    for (const { kind, text } of directives) {
      if (kind === 'nullable') for (const one of text.split(', ')) this.#nullable.add(one);
      else if (kind === 'not-null') for (const one of text.split(', ')) this.#notNull.add(one);
      else if (kind === 'type') this.#types.set(text.slice(0, text.indexOf(' ')), text.slice(text.indexOf(' ') + 1));
      else if (kind !== 'fragment') throw new Error(`${name}.sql: there is no directive --!${kind}`);
    }
  }

  isNullable(name: string): boolean {
    this.#asked.add(name);
    return this.#nullable.has(name);
  }

  isNotNull(name: string): boolean {
    this.#asked.add(name);
    return this.#notNull.has(name);
  }

  type(name: string): string | undefined {
    this.#asked.add(name);
    return this.#types.get(name);
  }

  checkAll(): void {
    for (const name of [...this.#nullable, ...this.#notNull, ...this.#types.keys()]) {
      if (!this.#asked.has(name)) throw new Error(`${this.name}.sql: a directive names ${name}, which is not there`);
    }
  }
}

function importsOf(body: string): string {
  const used = Object.keys(IMPORTS).filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  const files = [...new Set(used.map((name) => IMPORTS[name] ?? ''))].sort();
  return files
    .map((file) => `import type { ${used.filter((name) => IMPORTS[name] === file).join(', ')} } from '${file}';\n`)
    .join('');
}

async function readCatalog(client: pg.Client): Promise<Catalog> {
  const types = await client.query<{ oid: number; name: string }>(
    `select t.oid::integer as oid, case when e.oid is null then t.typname else e.typname || '[]' end as name
       from pg_type t left join pg_type e on e.typarray = t.oid`,
  );
  const columns = await client.query<Column & { at: string }>(
    `select a.attrelid::text || '.' || a.attnum as at, c.relname as table, a.attname as name, a.attnotnull as "isNotNull"
       from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0`,
  );
  return {
    types: new Map(types.rows.map(({ oid, name }) => [oid, name])),
    columns: new Map(columns.rows.map(({ at, ...column }) => [at, column])),
  };
}
