// The header Carillon-Overlap.
import { expect, it } from 'vitest';
import { parseOverlap } from '../../../src/domain/overlap.js';

it('reads the three policies, and refuses others by name', () => {
  expect(['allow', 'skip', ' Queue '].map((text) => parseOverlap(text))).toEqual(['allow', 'skip', 'queue']);
  expect(() => parseOverlap('forbid')).toThrow('Carillon-Overlap: expected allow, skip or queue, got "forbid"');
});
