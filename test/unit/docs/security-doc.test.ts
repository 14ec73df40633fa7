// docs/security.md against the code: it names settings that exist, with their defaults, and links that lead somewhere (issue 11).

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { configWith, type SettingName, SETTINGS } from '../../../src/config.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const page = readFileSync(path.join(ROOT, 'docs/security.md'), 'utf8');

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^([\d,]+)$/, 1],
  [/^([\d,]+) s$/, 1_000],
  [/^([\d,]+) min$/, 60_000],
  [/^([\d,]+) days$/, 86_400_000],
  [/^([\d,]+) KiB(?:\/s)?$/, 2 ** 10],
  [/^([\d,]+) MiB$/, 2 ** 20],
];

function valueOf(text: string): number | null {
  for (const [form, unit] of UNITS) {
    const number = form.exec(text)?.[1];
    if (number !== undefined) return Number(number.replaceAll(',', '')) * unit;
  }
  return null;
}

/** Settings and defaults of each row of the table of limits. */
const rows = [...page.matchAll(/^\| [^|]+ \| ([^|]*CARILLON_[^|]*) \| ([^|]+) \| [^|]+ \|$/gm)].map(
  ([, names = '', defaults = '']) => ({
    names: [...names.matchAll(/`(CARILLON_\w+|…\w+)`/g)].map(([, name = '']) =>
      name.replace('…', 'CARILLON_ADMIN_ANONYMOUS'),
    ),
    defaults: defaults.trim().split(', '),
  }),
);

describe('docs/security.md', () => {
  it('names only settings that exist', () => {
    const named = [...page.matchAll(/CARILLON_[A-Z_]*[A-Z]/g)].map(([name]) => name);
    expect(named.filter((name) => !(name in SETTINGS))).toEqual([]);
  });

  it('lists the limits with their defaults', () => {
    const defaults = configWith({});
    expect(rows.length).toBeGreaterThan(25);
    for (const { names, defaults: told } of rows) {
      // A share of all, which another setting bounds.
      if (names[0] === 'CARILLON_TENANT_CONCURRENCY') continue;
      expect([names, told.map(valueOf)]).toEqual([names, names.map((name) => defaults[name as SettingName])]);
    }
  });

  it('links to pages and sections that exist', () => {
    const links = [...page.matchAll(/\]\(([^)#]+\.md)(?:#([\w-]+))?\)/g)];
    expect(links.length).toBeGreaterThan(5);
    for (const [, file = '', section] of links) {
      const target = path.join(ROOT, 'docs', file);
      expect(existsSync(target), file).toBe(true);
      if (section === undefined) continue;
      const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      );
      expect(headings).toContain(section);
    }
  });
});
