// Facts about Upstash-Retry-Delay expressions: values, clamping, faults with their position, bounds.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CarillonError } from '../../../src/domain/errors.js';
import {
  compileRetryDelay,
  MAX_EXPRESSION_DELAY_MS,
  RETRY_DELAY_LIMITS,
} from '../../../src/domain/retry-delay-expression.js';

const fault = (text: string): string => {
  try {
    compileRetryDelay(text);
  } catch (error) {
    expect(error).toBeInstanceOf(CarillonError);
    expect((error as CarillonError).code).toBe('INVALID_REQUEST');
    return (error as CarillonError).message;
  }
  return 'no fault';
};

describe('values', () => {
  it.each([
    ['1000', 0, 1000],
    ['1000 * (1 + retried)', 2, 3000],
    ['pow(2, retried) * 1000', 3, 8000],
    ['max(1000, pow(2, retried) * 100)', 1, 1000],
    ['min(500, 200, 300)', 0, 200],
    ['10 - 4 - 3', 0, 3],
    ['2 + 3 * 4', 0, 14],
    ['100 / 10 / 2', 0, 5],
    ['-(-5)', 0, 5],
    ['--5', 0, 5],
    ['3 - -2', 0, 5],
    ['2 * -1 + 5', 0, 3],
    ['1e3 + .5e1 + 2.', 0, 1007],
    ['sqrt(abs(-16)) + exp(0) + floor(1.9) + ceil(1.1) + round(2.5)', 0, 4 + 1 + 1 + 2 + 3],
    [' \t( retried )\n', 7, 7],
    ['0.4', 0, 0],
    ['0.6', 0, 1],
  ])('%s with retried %i is %i ms', (text, retried, expected) => {
    expect(compileRetryDelay(text)(retried)).toBe(expected);
  });

  it.each([
    ['0 - 1', 0],
    ['-retried - 1', 0],
    ['0 / 0', 0],
    ['sqrt(-1)', 0],
    ['1 / 0', MAX_EXPRESSION_DELAY_MS],
    ['pow(10, 300) * pow(10, 300)', MAX_EXPRESSION_DELAY_MS],
    ['86400001', MAX_EXPRESSION_DELAY_MS],
  ])('%s is held within 0 and 24 h', (text, expected) => {
    expect(compileRetryDelay(text)(0)).toBe(expected);
  });

  it('agree with a direct evaluation of random expressions', () => {
    const { expression } = fc.letrec<{ expression: { text: string; value: number } }>((tie) => ({
      expression: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        fc.integer({ min: 0, max: 1000 }).map((n) => ({ text: String(n), value: n })),
        fc.constant({ text: 'retried', value: 3 }),
        tie('expression').map((a) => ({ text: `-(${a.text})`, value: -a.value })),
        fc.tuple(tie('expression'), fc.constantFrom('+', '-', '*', '/'), tie('expression')).map(([a, operator, b]) => ({
          text: `(${a.text}) ${operator} (${b.text})`,
          value:
            operator === '+'
              ? a.value + b.value
              : operator === '-'
                ? a.value - b.value
                : operator === '*'
                  ? a.value * b.value
                  : a.value / b.value,
        })),
        fc
          .tuple(tie('expression'), tie('expression'))
          .map(([a, b]) => ({ text: `max(${a.text},${b.text})`, value: Math.max(a.value, b.value) })),
      ),
    }));
    fc.assert(
      fc.property(expression, ({ text, value }) => {
        fc.pre(text.length <= RETRY_DELAY_LIMITS.maxLength);
        const expected = value > 0 ? Math.round(Math.min(value, MAX_EXPRESSION_DELAY_MS)) : 0;
        expect(compileRetryDelay(text)(3)).toBe(expected);
      }),
      { seed: 20_260_301, numRuns: 500 },
    );
  });
});

describe('faults', () => {
  it.each([
    ['', "expected a number, 'retried', a function or '(' at the end"],
    ['   ', 'at the end'],
    ['1 +', 'at the end'],
    ['1 2', 'expected an operator or the end at position 3'],
    ['(1', "expected ')' at the end"],
    ['1)', 'at position 2'],
    ['foo(1)', "unknown name 'foo'"],
    ['1 + process', "unknown name 'process'; known are retried and pow"],
    ['constructor(1)', "unknown name 'constructor'"],
    ['pow 2', "expected '(' after 'pow'"],
    ['pow(2)', 'pow takes 2 arguments, not 1 at position 1'],
    ['1 + abs(1, 2)', 'abs takes 1 argument, not 2 at position 5'],
    ['min()', 'at position 5'],
    ['2 ^ 3', 'at position 3'],
    ['retried; 1', 'at position 8'],
    ['1,2', 'at position 2'],
    ['0x10', 'at position 2'],
    ['"1"', 'at position 1'],
  ])('%s is refused with the place', (text, expected) => {
    const message = fault(text);
    expect(message).toContain('Upstash-Retry-Delay');
    expect(message).toContain(expected);
  });

  it('too long and too deep texts are refused, without a stack overflow', () => {
    expect(fault('1'.repeat(RETRY_DELAY_LIMITS.maxLength + 1))).toContain('at most 512');
    expect(fault('('.repeat(200) + '1' + ')'.repeat(200))).toContain('nested more than 64 deep');
    expect(fault('-'.repeat(500) + '1')).toContain('nested more than 64 deep');
    expect(fault('abs('.repeat(100) + '1' + ')'.repeat(100))).toContain('nested more than 64 deep');
  });

  it('no text makes it throw anything but its own error, or give a delay out of bounds', () => {
    const pieces = fc.array(
      fc.constantFrom(
        '1',
        '2.5',
        'retried',
        '+',
        '-',
        '*',
        '/',
        '(',
        ')',
        ',',
        'pow',
        'min',
        ' ',
        '\0',
        'é',
        '__proto__',
      ),
      {
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          pieces.map((parts) => parts.join('')),
          fc.string(),
        ),
        fc.nat(1000),
        (text, retried) => {
          let delayMs: number;
          try {
            delayMs = compileRetryDelay(text)(retried);
          } catch (error) {
            return error instanceof CarillonError;
          }
          return Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= MAX_EXPRESSION_DELAY_MS;
        },
      ),
      { seed: 20_260_302, numRuns: 2000 },
    );
  });
});

it('a compiled expression is kept while it is used, and the cache stays bounded', () => {
  const kept = compileRetryDelay('123 + retried');
  for (let i = 0; i < RETRY_DELAY_LIMITS.maxCachedExpressions * 2; i++) {
    compileRetryDelay(`${i} + 1`);
    if (i % 100 === 0) expect(compileRetryDelay('123 + retried')).toBe(kept);
  }
  for (let i = 0; i < RETRY_DELAY_LIMITS.maxCachedExpressions; i++) compileRetryDelay(`${i} + 2`);
  expect(compileRetryDelay('123 + retried')).not.toBe(kept);
});
