// What the batches of messages and of schedules have in common: the shape of an item, its bytes, and one answer for each item.

import { setImmediate } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import { CarillonError } from '../domain/errors.js';
import { foreseenFault } from './faults.js';
import { isWellFormed } from './header-text.js';
import { parseJson } from './json-body.js';

const nullable = (description: string) => Type.Optional(Type.Union([Type.String(), Type.Null()], { description }));

/** The members of an item; `queue` comes from the clients. */
export const ITEM = {
  destination: Type.String({ description: 'Absolute http or https URL' }),
  headers: Type.Optional(
    Type.Unknown({ description: 'Object of header names and strings: the settings, and Content-Type' }),
  ),
  body: nullable('Sent as UTF-8'),
  bodyBase64: nullable('In place of body, for bytes that are not UTF-8'),
  queue: nullable('Not implemented yet'),
};
export const ItemFault = Type.Object({ error: Type.String(), status: Type.Integer() });

/** The answer in place of a result. */
export interface Refused {
  readonly error: string;
  readonly status: number;
}

/** What `read` gives, or the answer to an item that it refused. What nobody foresaw ends the whole request. */
export function judged<Result>(read: () => Result): Result | Refused {
  try {
    return read();
  } catch (error) {
    const fault = foreseenFault(error);
    if (fault === null) throw error;
    return { error: fault.text, status: fault.status };
  }
}

/** Some milliseconds of work. */
const ITEMS_IN_A_TURN = 20;

/** Lets other work of this node run between every few items, deliveries that are due among them. */
export async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    if (results.length % ITEMS_IN_A_TURN === ITEMS_IN_A_TURN - 1) await setImmediate();
    results.push(work(item));
  }
  return results;
}

/** The items of a batch's body. Throws INVALID_REQUEST, and LIMIT_EXCEEDED that names the setting. */
export function readBatch(body: unknown, maxItems: number, setting: string): unknown[] {
  const items = parseJson(body);
  if (!Array.isArray(items)) {
    throw new CarillonError(
      'INVALID_REQUEST',
      'the body is no JSON array, expected [{"destination": …, "headers": {…}, "body": …}, …]',
    );
  }
  if (items.length <= maxItems) return items as unknown[];
  throw new CarillonError(
    'LIMIT_EXCEEDED',
    `the batch has ${items.length} items, at most ${maxItems} are allowed (${setting})`,
  );
}

/** The bytes of an item's body. Throws INVALID_REQUEST and, for a queue, NOT_IMPLEMENTED. */
export function readItemBody(item: {
  readonly body?: string | null;
  readonly bodyBase64?: string | null;
  readonly queue?: string | null;
}): Buffer {
  if (item.queue !== undefined && item.queue !== null && item.queue !== '') {
    throw new CarillonError('NOT_IMPLEMENTED', 'queue: queues are not implemented yet; leave it out');
  }
  const { body, bodyBase64 } = item;
  if (bodyBase64 !== undefined && bodyBase64 !== null) {
    if (body !== undefined && body !== null) {
      throw new CarillonError('INVALID_REQUEST', 'body and bodyBase64 are both given, expected one of them');
    }
    const bytes = Buffer.from(bodyBase64, 'base64');
    if (bytes.toString('base64') === bodyBase64) return bytes;
    throw new CarillonError('INVALID_REQUEST', 'bodyBase64 is no base64 (with "+", "/" and its padding)');
  }
  const text = body ?? '';
  if (isWellFormed(text)) return Buffer.from(text, 'utf8');
  throw new CarillonError('INVALID_REQUEST', 'body: it has a lone surrogate, which has no bytes to be sent as');
}
