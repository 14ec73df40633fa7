/** How PostgreSQL would read what a statement asks. */
import { type Database, type Given, statement, type StatementName } from '../../src/postgres/database.js';

/** `options` of explain, such as "(costs off)". */
export async function planOf<Name extends StatementName>(
  database: Database,
  options: string,
  name: Name,
  ...given: Given<Name>
): Promise<string> {
  const { text, values = [] } = statement(name, ...given);
  const rows = await database.text<{ 'QUERY PLAN': string }>(`explain ${options} ${text}`, values);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}
