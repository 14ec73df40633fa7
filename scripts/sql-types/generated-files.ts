// The files of src/postgres that are written out of a migrated database.

import type pg from 'pg';
import { schemaDump } from './schema-dump.js';
import { statementTypes } from './statement-types.js';

/** Their texts by their names. */
export async function generatedFiles(client: pg.Client): Promise<Readonly<Record<string, string>>> {
  return { 'statements.ts': await statementTypes(client), 'schema.sql': await schemaDump(client) };
}
