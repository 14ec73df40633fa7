// The documents name files, settings, log lines and sections that exist (issue 13, entries 1 and 11).

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../../src/settings.js';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const DOCUMENTS: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'bench/README.md',
  ...readdirSync(path.join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

function filesBelow(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => path.relative(ROOT, path.join(found.parentPath, found.name)));
}

/** A heading's anchor, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

describe.each(DOCUMENTS)('%s', (file) => {
  const text = read(file);

  it('names files of the repository that exist', () => {
    const named = [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:tsx?|mjs|lua|sql|cfg|md))`/g)].map(
      ([, name = '']) => name,
    );
    const missing = named.filter(
      (name) =>
        !/NNNN|^(?:dist|logs)\//.test(name) &&
        !existsSync(path.join(ROOT, name)) &&
        !existsSync(path.join(ROOT, 'src', name)),
    );
    expect(missing).toEqual([]);
  });

  it('links to files and sections that exist', () => {
    const broken: string[] = [];
    for (const [, target = '', section] of text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([\w-]+))?\)/g)) {
      const linked = target === '' ? path.join(ROOT, file) : path.resolve(ROOT, path.dirname(file), target);
      if (!existsSync(linked)) broken.push(target);
      else if (section !== undefined) {
        const headings = readFileSync(linked, 'utf8').matchAll(/^#+ (.+)$/gm);
        if (![...headings].some(([, heading = '']) => anchorOf(heading) === section))
          broken.push(`${target}#${section}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('names settings that exist', () => {
    const others = new Set([
      'CARILLON_FUZZ',
      'CARILLON_FUZZ_SEED',
      'CARILLON_DIFFERENTIAL_SEED',
      'CARILLON_DIFFERENTIAL_STEPS',
    ]);
    const named = [...text.matchAll(/CARILLON_[A-Z_]*[A-Z]\b/g)].map(([name]) => name);
    expect(named.filter((name) => !(name in SETTINGS) && !others.has(name))).toEqual([]);
  });

  it('names commands of package.json that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

describe('docs/operations.md', () => {
  it('lists log lines that a node or the launcher writes', () => {
    const source = [...filesBelow('src'), ...filesBelow('cluster')]
      .filter((file) => file.endsWith('.ts'))
      .map(read)
      .join('\n');
    const section = read('docs/operations.md').split('\n## Log lines\n')[1]?.split('\n## ')[0] ?? '';
    const lines = [...section.matchAll(/^\| (`[^|]+) \| (?:info|warn|error|fatal) /gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`…]+)…?`/g)].map(([, line = '']) => line),
    );
    expect(lines.length).toBeGreaterThan(30);
    expect(lines.filter((line) => !source.includes(line))).toEqual([]);
  });
});
