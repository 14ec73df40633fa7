// A batch taken apart while it arrives (issue 11, A3): the same items that JSON.parse gives, and limits that need no end to be known.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BatchLimits, BatchSplitter } from '../../../src/api/batch-splitter.js';
import { parseJsonPart } from '../../../src/api/json-body.js';
import { CarillonError } from '../../../src/domain/errors.js';

const LIMITS: BatchLimits = {
  maxItems: 50,
  itemsSetting: 'THE_SETTING',
  maxItemBytes: 10_000,
  maxDepth: 10,
  maxValues: 200,
};

/** The items of a body that arrives in parts of so many bytes each, by turns. */
function split(body: Buffer, parts: readonly number[] = [body.length], limits = LIMITS): unknown[] {
  const splitter = new BatchSplitter(limits);
  for (let at = 0, turn = 0; at < body.length; turn++) {
    const size = Math.max(1, parts[turn % parts.length] ?? 1);
    splitter.push(body.subarray(at, at + size));
    at += size;
  }
  return splitter.end().texts.map((text) => parseJsonPart(text ?? Buffer.alloc(0), ''));
}

function refusal(body: Buffer | string, limits = LIMITS): CarillonError {
  try {
    split(Buffer.from(body), [7], limits);
  } catch (error) {
    if (error instanceof CarillonError) return error;
    throw error;
  }
  throw new Error('not refused');
}

/** What JSON.parse makes of it, where that is a list. */
function wholeOrNull(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const parts = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });

describe('a batch that is taken apart', () => {
  it('has the items that JSON.parse gives, however it arrives', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 20 }),
        parts,
        fc.nat(2),
        (items, sizes, indent) => {
          const text = JSON.stringify(items, null, indent);
          expect(split(Buffer.from(text), sizes)).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  it('has long strings whole, whatever is escaped in them and wherever they are cut', () => {
    const bits = fc.constantFrom('\\', '"', '\\\\', 'a', '",', 'é', 'x'.repeat(63), 'y'.repeat(64), 'z'.repeat(130));
    const texts = fc.array(fc.array(bits, { maxLength: 8 }), { maxLength: 5 });
    const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(texts, sizes, (items, cuts) => {
        const strings = items.map((item) => item.join(''));
        expect(split(Buffer.from(JSON.stringify(strings)), cuts)).toEqual(strings);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is refused where JSON.parse refuses it, and only there', () => {
    const bits = fc.constantFrom(
      '[',
      ']',
      '{',
      '}',
      ',',
      ':',
      '"',
      '\\',
      '1',
      '"a"',
      'null',
      ' ',
      '\\u0041',
      '\n',
      'é',
    );
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 12 }), parts, (pieces, sizes) => {
        const text = `[${pieces.join('')}]`;
        const whole = wholeOrNull(text);
        const ours = ((): unknown[] | null => {
          try {
            return split(Buffer.from(text), sizes);
          } catch (error) {
            expect(error).toBeInstanceOf(CarillonError);
            return null;
          }
        })();
        expect(ours).toEqual(whole);
      }),
      { numRuns: 3_000 },
    );
  });

  it('may begin with a byte order mark, and with nothing like one', () => {
    const mark = Buffer.from([0xef, 0xbb, 0xbf]);
    expect(split(Buffer.concat([mark, Buffer.from(' [1]')]), [1])).toEqual([1]);
    expect(refusal(Buffer.concat([mark.subarray(0, 2), Buffer.from('[1]')])).message).toContain('no JSON array');
    expect(refusal(Buffer.concat([Buffer.from(' '), mark, Buffer.from('[1]')])).message).toContain('no JSON array');
    expect(refusal(Buffer.concat([Buffer.from('['), mark, Buffer.from('1]')])).message).toContain('not JSON');
  });

  it.each([
    ['', 'no JSON array'],
    ['  ', 'no JSON array'],
    ['{}', 'no JSON array'],
    ['nonsense', 'no JSON array'],
    ['[1', 'the list has no end'],
    ['["]', 'the list has no end'],
    ['[1}', 'another end'],
    ['[1] [2]', 'after the list'],
    ['[1,]', 'not JSON'],
    ['[,1]', 'not JSON'],
  ])('is told what is wrong with %j', (body, text) => {
    expect(refusal(body)).toMatchObject({ code: 'INVALID_REQUEST', message: expect.stringContaining(text) as string });
  });
});

describe('the limits of a batch', () => {
  /** Never finished: the limit is noticed before the end. */
  it.each([
    ['items', `[${'1,'.repeat(50)}`, 'LIMIT_EXCEEDED', 'at most 50 are allowed (THE_SETTING)'],
    ['bytes of an item', `[1,"${'x'.repeat(10_001)}`, 'PAYLOAD_TOO_LARGE', 'item 1 of the batch has more than 10000'],
    ['depth', `[1,${'['.repeat(10)}`, 'LIMIT_EXCEEDED', 'CARILLON_JSON_DEPTH_MAX'],
    ['values of an item', `[1,[${'1,'.repeat(200)}`, 'LIMIT_EXCEEDED', 'CARILLON_JSON_VALUES_MAX'],
  ])('of %s are noticed while it arrives', (_what, body, code, text) => {
    expect(refusal(body)).toMatchObject({ code, message: expect.stringContaining(text) as string });
  });

  it('are what is allowed', () => {
    expect(split(Buffer.from(`[${'1,'.repeat(49)}1]`))).toHaveLength(50);
    expect(split(Buffer.from(`["${'x'.repeat(9_998)}"]`))).toHaveLength(1);
    expect(split(Buffer.from(`[${'['.repeat(9)}${']'.repeat(9)}]`))).toHaveLength(1);
    // Each item has its own count.
    expect(split(Buffer.from(`[${'[1,2,3,4,5,6,7,8],'.repeat(49)}1]`))).toHaveLength(50);
  });
});
