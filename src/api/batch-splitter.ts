// Splits the body of a batch into its items while it arrives, so that a batch with too many, too large or too deep
// items is refused before the rest of it is read. The items stay bytes: each is parsed in turn (batch-items.ts).

import { CarillonError } from '../domain/errors.js';
import { JsonScanner, type JsonLimits } from './json-scanner.js';

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

export interface BatchLimits extends JsonLimits {
  readonly maxItems: number;
  /** The setting of `maxItems`. */
  readonly itemsSetting: string;
  readonly maxItemBytes: number;
}

/** The items of a batch as they were sent: JSON, as far as strings and brackets were checked. */
export class BatchItems {
  constructor(readonly texts: (Buffer | null)[]) {}
}

export class BatchSplitter {
  readonly #limits: BatchLimits;
  readonly #scanner: JsonScanner;
  readonly #items: Buffer[] = [];
  /** State of the item that is arriving. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #state: 'before' | 'inside' | 'after' = 'before';
  #received = 0;
  /** Bytes of a byte order mark that arrived. */
  #markBytes = 0;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
    this.#scanner = new JsonScanner(limits);
  }

  /** Adds the next bytes, which must not change afterwards. Throws INVALID_REQUEST, LIMIT_EXCEEDED. */
  push(chunk: Buffer): void {
    let at = 0;
    if (this.#state === 'before') at = this.#findStart(chunk);
    while (this.#state === 'inside' && at < chunk.length) {
      const end = this.#scanner.next(chunk, at);
      this.#take(chunk.subarray(at, end === -1 ? chunk.length : end));
      if (end === -1) return;
      if (chunk[end] === COMMA) this.#endItem();
      else this.#endList(chunk[end]);
      at = end + 1;
    }
    if (this.#state === 'after' && !isBlank(chunk.subarray(at))) throw notJson('there is something after the list');
  }

  /** Returns the items after the last bytes. Throws INVALID_REQUEST when the list has no end. */
  end(): BatchItems {
    if (this.#state === 'before') throw noList();
    if (this.#state === 'inside') throw notJson('the list has no end');
    return new BatchItems(this.#items);
  }

  #findStart(chunk: Buffer): number {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (byte === BYTE_ORDER_MARK[this.#received++]) this.#markBytes += 1;
      else if (!isSpace(byte) && byte !== OPEN_BRACKET) throw noList();
      if (byte !== OPEN_BRACKET) continue;
      if (this.#markBytes % BYTE_ORDER_MARK.length !== 0) throw noList();
      this.#state = 'inside';
      this.#scanner.next(chunk.subarray(at, at + 1), 0);
      return at + 1;
    }
    return chunk.length;
  }

  #take(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
    if (this.#pieceBytes <= this.#limits.maxItemBytes) return;
    throw new CarillonError(
      'PAYLOAD_TOO_LARGE',
      `item ${this.#items.length} of the batch has more than ${this.#limits.maxItemBytes} bytes, which is the most that is allowed`,
    );
  }

  #endItem(): void {
    const [only] = this.#pieces;
    this.#items.push(only !== undefined && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces));
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#scanner.restartCount();
    const { maxItems, itemsSetting } = this.#limits;
    if (this.#items.length < maxItems) return;
    throw new CarillonError(
      'LIMIT_EXCEEDED',
      `the batch has more than ${maxItems} items, at most ${maxItems} are allowed (${itemsSetting})`,
    );
  }

  #endList(bracket: number | undefined): void {
    if (bracket !== CLOSE_BRACKET) throw notJson('the list has another end than "]"');
    this.#state = 'after';
    if (this.#items.length === 0 && this.#pieces.every(isBlank)) return;
    this.#items.push(Buffer.concat(this.#pieces));
    this.#pieces = [];
  }
}

export function notJson(why: string): CarillonError {
  return new CarillonError('INVALID_REQUEST', `the body is not JSON: ${why}`);
}

export function noList(): CarillonError {
  return new CarillonError(
    'INVALID_REQUEST',
    'the body is no JSON array, expected [{"destination": …, "headers": {…}, "body": …}, …]',
  );
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every(isSpace);
}
