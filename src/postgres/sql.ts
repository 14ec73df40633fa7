// Loads the statements. Each is in a file of its own, beside the module that runs it, and its name is the file's name.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const INCLUDE = /^--!include ([a-z-]+)$/gm;

/** Where each statement is, by its name. */
const files = new Map(
  readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql') && !file.startsWith('migrations'))
    .map((file) => [path.basename(file, '.sql'), path.join(FOLDER, file)]),
);

const loaded = new Map<string, string>();

/** Returns the text of the statement `name`, without its leading comment, and with those that it includes. Read once. */
export function sql(name: string): string {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const file = files.get(name);
  if (file === undefined) throw new Error(`there is no statement ${name}.sql below ${FOLDER}`);
  const text = readFileSync(file, 'utf8')
    .replace(/^(--(?!!).*\n)+/, '')
    .replace(INCLUDE, (_line, included: string) => sql(included))
    .trim();
  loaded.set(name, text);
  return text;
}
