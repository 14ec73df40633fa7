// Reads JSON out of a raw body where a route wants JSON, and checks it, with faults that say what is wrong and where.

import type { Static, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { CarillonError } from '../domain/errors.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A body as Fastify hands it on here: always raw bytes, undefined when there was none. */
export function rawBody(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** The JSON value of a body; undefined when the body is empty. Throws INVALID_REQUEST. */
export function parseJson(body: unknown): unknown {
  const bytes = rawBody(body);
  if (bytes.length === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new CarillonError('INVALID_REQUEST', 'the body is not UTF-8, expected JSON');
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CarillonError('INVALID_REQUEST', `the body is not JSON: ${why.slice(0, 200)}`);
  }
}

/** The JSON value of a body, checked against a schema. Throws INVALID_REQUEST with the path of the first fault. */
export function readJson<Schema extends TSchema>(body: unknown, schema: Schema): Static<Schema> {
  const value = parseJson(body);
  if (value === undefined) throw new CarillonError('INVALID_REQUEST', 'the body is empty, expected JSON');
  return checkValue(value, schema, 'the body');
}

/** A value, checked against a schema; `what` names it in the text. Throws INVALID_REQUEST. */
export function checkValue<Schema extends TSchema>(value: unknown, schema: Schema, what: string): Static<Schema> {
  if (Value.Check(schema, value)) return value;
  const fault = Value.Errors(schema, value).First();
  const where = fault === undefined || fault.path === '' ? what : `${what}, at ${fault.path}`;
  throw new CarillonError('INVALID_REQUEST', `${where}: ${fault?.message ?? 'does not fit'}`);
}
