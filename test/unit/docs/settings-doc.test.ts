// docs/settings.md is what src/config.ts says.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { settingsDocument } from '../../../scripts/settings-doc.js';
import { SETTINGS } from '../../../src/config.js';

it('every setting is in the document once', () => {
  const named = settingsDocument().match(/^\| `CARILLON_[A-Z_]+`/gm) ?? [];
  expect(named.map((cell) => cell.slice(3, -1))).toEqual(Object.keys(SETTINGS));
});

it('docs/settings.md is current (npm run docs writes it)', () => {
  expect(readFileSync('docs/settings.md', 'utf8')).toBe(settingsDocument());
});
