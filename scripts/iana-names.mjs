/**
 * Writes src/domain/cron/iana-names.ts: `node scripts/iana-names.mjs 2026d < zones`, where `zones` has one name a line,
 * as in the package `tzdata` that the Python project keeps (its file tzdata/zones), or as PostgreSQL prints it: `select
 * name from pg_timezone_names`.
 */
import { writeFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './prepare.mjs';

const FILE = path.join(root, 'src', 'domain', 'cron', 'iana-names.ts');
const MAX_COLUMN = 118;

const version = process.argv[2] ?? '';
if (!/^\d{4}[a-z]$/.test(version)) throw new Error('the first argument is the release of the database, such as 2026d');

// "Factory" is what the database calls a machine whose zone nobody has set.
const names = readFileSync(0, 'utf8')
  .split('\n')
  .map((line) => line.trim())
  .filter((name) => /^[A-Z][A-Za-z0-9_+/-]*$/.test(name) && name !== 'Factory');

const lines = [''];
for (const name of [...new Set(names)].sort()) {
  const line = lines.at(-1);
  if (line.length + 1 + name.length > MAX_COLUMN) lines.push(name);
  else lines[lines.length - 1] = line === '' ? name : `${line} ${name}`;
}

writeFileSync(
  FILE,
  `// Written by scripts/iana-names.mjs. Every name of the IANA time zone database, links to older names included: Intl
// lists none of those.

/** The names of release ${version} of the database. */
export const IANA_NAMES: readonly string[] = \`
${lines.join('\n')}
\`
  .trim()
  .split(/\\s+/);
`,
);
