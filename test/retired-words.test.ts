// The glossary's retired words are gone from the code, its comments and its documents.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { RETIRED_WORDS } from './kit/retired-words.js';

const ROOT = path.resolve(import.meta.dirname, '..');
const FOLDERS = ['src', 'cli', 'cluster', 'web', 'scripts', 'bench', 'docs'];
const HEADS = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];

const below = FOLDERS.flatMap((folder) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|tsx|mjs|lua|sql|md)$/.test(file))
    .map((file) => `${folder}/${file}`),
);
/** The glossary itself, which names them. */
const GLOSSARY = /^## Words\n[\s\S]*?(?=^## )/m;

const lines = [...HEADS, ...below].flatMap((file) =>
  readFileSync(path.join(ROOT, file), 'utf8')
    .replace(GLOSSARY, '')
    .split('\n')
    .map((line) => ({ file, line })),
);

it('there are files to look into', () => {
  expect(lines.length).toBeGreaterThan(20_000);
});

it.each(RETIRED_WORDS)('nothing says $pattern: write $use', ({ pattern, except = /(?!)/ }) => {
  const found = lines.filter(({ line }) => pattern.test(line) && !except.test(line));
  expect(found.map(({ file, line }) => `${file}: ${line.trim()}`)).toEqual([]);
});
