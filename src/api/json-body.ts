// Reads JSON out of a raw body where a route wants JSON, and checks it, with faults that say what is wrong and where.

import { KindGuard, type Static, type TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { Value } from '@sinclair/typebox/value';
import { CarillonError } from '../domain/errors.js';
import { nearestName } from '../domain/nearest-name.js';

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

/**
 * A value, checked against a schema; `what` names it in the text. Throws INVALID_REQUEST, also for a member that an object's schema does
 * not have: whoever mistypes a name should hear of it.
 */
export function checkValue<Schema extends TSchema>(value: unknown, schema: Schema, what: string): Static<Schema> {
  const unknown = unknownMember(value, schema);
  if (unknown !== null) throw new CarillonError('INVALID_REQUEST', `${what} has a member ${unknown}`);
  if (compiled(schema).Check(value)) return value;
  const fault = Value.Errors(schema, value).First();
  if (fault === undefined) throw new CarillonError('INVALID_REQUEST', `${what} does not fit`);
  const where = fault.path === '' ? what : `${what}: ${fault.path.slice(1).replaceAll('/', '.')}`;
  const is = fault.value === undefined ? 'missing' : shown(fault.value);
  throw new CarillonError('INVALID_REQUEST', `${where} is ${is}, expected ${expectation(fault.schema)}`);
}

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>();

/** A schema as a function, made once: a batch checks a thousand items. */
function compiled<Schema extends TSchema>(schema: Schema): TypeCheck<Schema> {
  const known = checks.get(schema);
  if (known !== undefined) return known as TypeCheck<Schema>;
  const check = TypeCompiler.Compile(schema);
  checks.set(schema, check);
  return check;
}

/** The first member that the schema does not know, with the nearest one that it does; null when there is none. */
function unknownMember(value: unknown, schema: TSchema): string | null {
  if (!KindGuard.IsObject(schema) || typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const known = Object.keys(schema.properties);
  const name = Object.keys(value).find((member) => !known.includes(member));
  if (name === undefined) return null;
  const near = nearestName(name.slice(0, 64), known);
  return `${shown(name)} that means nothing here; did you mean ${near}?`;
}

/** What a schema wants, in words. */
function expectation(schema: TSchema): string {
  if (KindGuard.IsUnion(schema)) return [...new Set(schema.anyOf.map(expectation))].join(' or ');
  if (KindGuard.IsObject(schema)) return 'an object';
  if (KindGuard.IsArray(schema)) return 'a list';
  if (KindGuard.IsInteger(schema)) return 'a whole number';
  if (KindGuard.IsNumber(schema)) return 'a number';
  if (KindGuard.IsBoolean(schema)) return 'true or false';
  if (KindGuard.IsNull(schema)) return 'null';
  if (!KindGuard.IsString(schema)) return 'something else';
  return schema.maxLength === undefined ? 'a string' : `a string of at most ${schema.maxLength} characters`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
