// Loads the statements, each from its own file beside this one.

import { readFileSync } from 'node:fs';

const INCLUDE = /^--!include ([a-z-]+)$/gm;

const loaded = new Map<string, string>();

/** The text of sql/<name>.sql, without its leading comment, and with those that it includes. Read once. */
export function sql(name: string): string {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const source = readFileSync(new URL(`./sql/${name}.sql`, import.meta.url), 'utf8');
  const text = source
    .replace(/^(--(?!!).*\n)+/, '')
    .replace(INCLUDE, (_line, included: string) => sql(included))
    .trim();
  loaded.set(name, text);
  return text;
}
