// Scans JSON as bytes, chunk by chunk, without building values: it recognizes only strings and nesting. It may accept
// text that JSON.parse refuses; text that is too deep or has too many values is refused before values are built.

import type { Config } from '../config.js';
import { CarillonError } from '../domain/errors.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** From this length a native search for the end of a string is worth its call. */
const LONG_STRING_BYTES = 64;

export interface JsonLimits {
  /** Most levels of nested lists and objects. */
  readonly maxDepth: number;
  /** Most elements and members. */
  readonly maxValues: number;
}

export function jsonLimits(config: Config): JsonLimits {
  return { maxDepth: config.CARILLON_JSON_DEPTH_MAX, maxValues: config.CARILLON_JSON_VALUES_MAX };
}

export class JsonScanner {
  readonly #limits: JsonLimits;
  #depth = 0;
  #values = 0;
  #inString = false;
  #escaped = false;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** Restarts the count of values. */
  restartCount(): void {
    this.#values = 0;
  }

  /**
   * Continues from `from` to the next byte that ends an element of the outermost list: a comma, or the end of the list.
   * Returns its index, or -1 when the chunk ends before. Throws LIMIT_EXCEEDED.
   */
  next(chunk: Buffer, from: number): number {
    const end = chunk.length;
    let at = from;
    while (at < end) {
      if (this.#inString) {
        at = this.#skipString(chunk, at);
        continue;
      }
      switch (chunk[at++]) {
        case QUOTE:
          this.#inString = true;
          break;
        case OPEN_BRACKET:
        case OPEN_BRACE:
          this.#open();
          break;
        case CLOSE_BRACKET:
        case CLOSE_BRACE:
          this.#depth -= 1;
          if (this.#depth <= 0) return at - 1;
          break;
        case COMMA:
          this.#count();
          if (this.#depth <= 1) return at - 1;
          break;
        default:
      }
    }
    return -1;
  }

  #skipString(chunk: Buffer, from: number): number {
    const end = chunk.length;
    let at = from;
    if (this.#escaped) {
      this.#escaped = false;
      at += 1;
    }
    let plain = 0;
    while (at < end) {
      const byte = chunk[at++];
      if (byte === QUOTE) {
        this.#inString = false;
        return at;
      }
      if (byte === BACKSLASH) {
        if (at === end) this.#escaped = true;
        at += 1;
        plain = 0;
      } else if (++plain === LONG_STRING_BYTES) {
        at = this.#findQuote(chunk, at);
        if (!this.#inString) return at;
        plain = 0;
      }
    }
    return end;
  }

  /**
   * Returns the index behind the next quote, which ends the string unless it is escaped, or the chunk's end. `from` is
   * not escaped.
   */
  #findQuote(chunk: Buffer, from: number): number {
    const found = chunk.indexOf(QUOTE, from);
    const quote = found === -1 ? chunk.length : found;
    let backslashes = 0;
    while (quote - backslashes > from && chunk[quote - backslashes - 1] === BACKSLASH) backslashes += 1;
    const isEscaped = backslashes % 2 === 1;
    if (found === -1) {
      this.#escaped = isEscaped;
      return quote;
    }
    this.#inString = isEscaped;
    return quote + 1;
  }

  #open(): void {
    this.#depth += 1;
    this.#count();
    if (this.#depth <= this.#limits.maxDepth) return;
    throw new CarillonError(
      'LIMIT_EXCEEDED',
      `the JSON is nested more than ${this.#limits.maxDepth} deep, which is the most that is allowed (CARILLON_JSON_DEPTH_MAX)`,
    );
  }

  #count(): void {
    this.#values += 1;
    if (this.#values <= this.#limits.maxValues) return;
    throw new CarillonError(
      'LIMIT_EXCEEDED',
      `the JSON has more than ${this.#limits.maxValues} members and elements, which is the most that is allowed (CARILLON_JSON_VALUES_MAX)`,
    );
  }
}

/** Throws LIMIT_EXCEEDED for a JSON text that is too deep, or has too many values. */
export function checkJsonLimits(bytes: Buffer, limits: JsonLimits): void {
  const scanner = new JsonScanner(limits);
  let at = 0;
  do at = scanner.next(bytes, at) + 1;
  while (at > 0);
}
