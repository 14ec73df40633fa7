// Compiles an Upstash-Retry-Delay expression ("pow(2, retried) * 1000") to a function, with its own parser and without
// eval.
import { LRUCache } from 'lru-cache';
import { CarillonError } from './errors.js';

/** Limits of an expression. They keep parsing, and the recursion over the parsed tree, small for any input. */
export const RETRY_DELAY_LIMITS = { maxLength: 512, maxDepth: 64, maxCachedExpressions: 1000 } as const;

/** The longest delay of an expression: 24 hours. */
export const MAX_EXPRESSION_DELAY_MS = 86_400_000;

/**
 * Returns the delay before the next attempt in whole milliseconds, always within [0, 24 h]: a negative or undefined
 * result (NaN, as of 0/0) counts as 0, a larger one as 24 h. `retried` is 0 before the first retry.
 */
export type RetryDelay = (retried: number) => number;

type Evaluate = (retried: number) => number;

interface Fn {
  readonly minArguments: number;
  readonly maxArguments: number;
  readonly apply: (values: readonly number[]) => number;
}

const one = (apply: (value: number) => number): Fn => ({
  minArguments: 1,
  maxArguments: 1,
  apply: ([value = 0]) => apply(value),
});

const FUNCTIONS: ReadonlyMap<string, Fn> = new Map([
  [
    'pow',
    { minArguments: 2, maxArguments: 2, apply: ([base = 0, exponent = 0]) => Math.pow(base, exponent) } satisfies Fn,
  ],
  ['sqrt', one(Math.sqrt)],
  ['abs', one(Math.abs)],
  ['exp', one(Math.exp)],
  ['floor', one(Math.floor)],
  ['ceil', one(Math.ceil)],
  ['round', one(Math.round)],
  ['min', { minArguments: 1, maxArguments: Infinity, apply: (values) => Math.min(...values) } satisfies Fn],
  ['max', { minArguments: 1, maxArguments: Infinity, apply: (values) => Math.max(...values) } satisfies Fn],
]);

const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const BLANK = /[ \t\r\n]*/y;

const compiled = new LRUCache<string, RetryDelay>({ max: RETRY_DELAY_LIMITS.maxCachedExpressions });

/**
 * Compiles an expression that yields milliseconds. Grammar: numbers, the variable `retried`, `+ - * /`, parentheses,
 * unary minus and plus, and pow sqrt abs exp floor ceil round min max. Compiled expressions are cached; the least
 * recently used one is evicted first.
 *
 * @throws CarillonError INVALID_REQUEST, with the position (from 1), when the text is not such an expression.
 */
export function compileRetryDelay(text: string): RetryDelay {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const evaluate = new Parser(text).parse();
  const delay: RetryDelay = (retried) => toDelayMs(evaluate(retried));
  compiled.set(text, delay);
  return delay;
}

function toDelayMs(value: number): number {
  // The comparison is also false for NaN.
  if (!(value > 0)) return 0;
  return Math.round(Math.min(value, MAX_EXPRESSION_DELAY_MS));
}

/** Recursive descent: sum = product {(+|-) product}; product = unary {(*|/) unary}; unary = (-|+) unary | atom. */
class Parser {
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  parse(): Evaluate {
    if (this.text.length > RETRY_DELAY_LIMITS.maxLength) {
      throw new CarillonError(
        'INVALID_REQUEST',
        `Upstash-Retry-Delay: the expression has ${this.text.length} characters, at most ${RETRY_DELAY_LIMITS.maxLength} are allowed`,
      );
    }
    const result = this.sum();
    this.blank();
    if (this.at < this.text.length) throw this.problem('expected an operator or the end');
    return result;
  }

  private sum(): Evaluate {
    let left = this.product();
    for (;;) {
      const operator = this.take('+', '-');
      if (operator === null) return left;
      const a = left;
      const b = this.product();
      left = operator === '+' ? (r) => a(r) + b(r) : (r) => a(r) - b(r);
    }
  }

  private product(): Evaluate {
    let left = this.unary();
    for (;;) {
      const operator = this.take('*', '/');
      if (operator === null) return left;
      const a = left;
      const b = this.unary();
      left = operator === '*' ? (r) => a(r) * b(r) : (r) => a(r) / b(r);
    }
  }

  private unary(): Evaluate {
    const sign = this.take('-', '+');
    if (sign === null) return this.atom();
    this.enter();
    const operand = this.unary();
    this.depth--;
    return sign === '-' ? (r) => -operand(r) : operand;
  }

  private atom(): Evaluate {
    if (this.take('(') !== null) {
      this.enter();
      const inner = this.sum();
      this.depth--;
      if (this.take(')') === null) throw this.problem("expected ')'");
      return inner;
    }
    const number = this.match(NUMBER);
    if (number !== null) {
      const value = Number(number);
      return () => value;
    }
    const start = this.at;
    const name = this.match(NAME);
    if (name === null) throw this.problem("expected a number, 'retried', a function or '('");
    if (name === 'retried') return (r) => r;
    const fn = FUNCTIONS.get(name);
    if (fn === undefined) {
      this.at = start;
      throw this.problem(`unknown name '${name}'; known are retried and ${[...FUNCTIONS.keys()].join(', ')}`);
    }
    return this.call(name, fn, start);
  }

  private call(name: string, fn: Fn, start: number): Evaluate {
    if (this.take('(') === null) throw this.problem(`expected '(' after '${name}'`);
    this.enter();
    const args: Evaluate[] = [this.sum()];
    while (this.take(',') !== null) args.push(this.sum());
    this.depth--;
    if (this.take(')') === null) throw this.problem("expected ',' or ')'");
    if (args.length < fn.minArguments || args.length > fn.maxArguments) {
      this.at = start;
      throw this.problem(
        `${name} takes ${fn.minArguments} argument${fn.minArguments === 1 ? '' : 's'}, not ${args.length}`,
      );
    }
    return (r) => fn.apply(args.map((argument) => argument(r)));
  }

  private enter(): void {
    this.depth++;
    if (this.depth > RETRY_DELAY_LIMITS.maxDepth) {
      throw this.problem(`nested more than ${RETRY_DELAY_LIMITS.maxDepth} deep`);
    }
  }

  private take(...options: string[]): string | null {
    this.blank();
    const character = this.text[this.at];
    if (character === undefined || !options.includes(character)) return null;
    this.at++;
    return character;
  }

  private blank(): void {
    BLANK.lastIndex = this.at;
    BLANK.test(this.text);
    this.at = BLANK.lastIndex;
  }

  private match(pattern: RegExp): string | null {
    this.blank();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? null;
    if (found !== null) this.at += found.length;
    return found;
  }

  private problem(what: string): CarillonError {
    this.blank();
    const where = this.at < this.text.length ? `at position ${this.at + 1}` : 'at the end';
    return new CarillonError('INVALID_REQUEST', `Upstash-Retry-Delay: ${what} ${where} of "${this.text}"`);
  }
}
