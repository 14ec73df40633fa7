// The common parts of batches of messages and of schedules: the form of an item, its bytes, and one answer for each
// item.

import { Type } from '@sinclair/typebox';
import { CarillonError, invariant } from '../domain/errors.js';
import { BatchItems, noList } from './batch-splitter.js';
import { expectedError } from './error-answers.js';
import { isWellFormed } from './header-text.js';
import { parseJsonPart } from './json-body.js';
import { inTurns } from './turns.js';
import type { ProcessTime } from '../domain/clock.js';

const nullable = (description: string) => Type.Optional(Type.Union([Type.String(), Type.Null()], { description }));

/** The members of an item; clients send `queue`. */
export const ITEM = {
  destination: Type.String({ description: 'Absolute http or https URL' }),
  headers: Type.Optional(
    Type.Unknown({ description: 'Object of header names and strings: the settings, and Content-Type' }),
  ),
  body: nullable('Sent as UTF-8'),
  bodyBase64: nullable('In place of body, for bytes that are not UTF-8'),
  queue: nullable('Not implemented yet'),
};
export const ItemError = Type.Object({ error: Type.String(), status: Type.Integer() });

/** The answer in place of a result. */
export interface Refused {
  readonly error: string;
  readonly status: number;
}

/**
 * Returns the result of `read`, or the answer to an item that it refused. An unexpected error fails the whole request.
 */
export function judged<Result>(read: () => Result): Result | Refused {
  try {
    return read();
  } catch (error) {
    const problem = expectedError(error);
    if (problem === null) throw error;
    return { error: problem.text, status: problem.status };
  }
}

/**
 * Returns the result of `read` for each item of a batch's body, in order, while other work of this node continues.
 * Frees the bytes of each item that was read. Throws INVALID_REQUEST for an item that is no JSON, and whatever `read`
 * throws.
 */
export function readItems<Result>(
  time: ProcessTime,
  body: unknown,
  read: (item: unknown) => Result,
): Promise<Result[]> {
  // Without a body there is no list.
  if (!(body instanceof BatchItems)) throw noList();
  const { texts } = body;
  return inTurns(time, texts.keys(), (index) => {
    const text = texts[index] ?? null;
    invariant(text !== null, 'an item is read once');
    texts[index] = null;
    return read(parseJsonPart(text, ` (item ${index})`));
  });
}

/** Returns the bytes of an item's body. Throws INVALID_REQUEST and, for a queue, NOT_IMPLEMENTED. */
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
