// Parses and checks JSON in a raw body for routes that expect JSON, with errors that name the mistake and its location.

import { KindGuard, type Static, type TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { Value } from '@sinclair/typebox/value';
import type { FastifyRequest } from 'fastify';
import { CarillonError } from '../domain/errors.js';
import { nearestName } from '../domain/nearest-name.js';
import { notJson } from './batch-splitter.js';
import { checkJsonLimits, type JsonLimits } from './json-scanner.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Limits of a JSON body; a batch is checked while it is read. */
    jsonLimits: JsonLimits & { readonly maxBytes: number };
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
/** A byte order mark inside a batch is not one, and is no JSON. */
const utf8Part = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the raw bytes of a body from Fastify, which is undefined when there was none. */
export function rawBody(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/**
 * Returns the JSON value of a body; undefined when the body is empty. Throws INVALID_REQUEST, LIMIT_EXCEEDED,
 * PAYLOAD_TOO_LARGE.
 */
export function parseJson({ body, jsonLimits }: FastifyRequest): unknown {
  const bytes = rawBody(body);
  if (bytes.length === 0) return undefined;
  if (bytes.length > jsonLimits.maxBytes) {
    throw new CarillonError(
      'PAYLOAD_TOO_LARGE',
      `the body has ${bytes.length} bytes of JSON, at most ${jsonLimits.maxBytes} are allowed (CARILLON_JSON_MAX_BYTES)`,
    );
  }
  checkJsonLimits(bytes, jsonLimits);
  return parsed(bytes, utf8);
}

/**
 * Returns the JSON value of a part of a body that is within its limits; `where` names it in an error. Throws
 * INVALID_REQUEST.
 */
export function parseJsonPart(bytes: Buffer, where: string): unknown {
  return parsed(bytes, utf8Part, where);
}

function parsed(bytes: Buffer, decoder: typeof utf8, where = ''): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new CarillonError('INVALID_REQUEST', `the body is not UTF-8, expected JSON${where}`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw notJson(why.slice(0, 200) + where);
  }
}

/** Returns the JSON value of a body, checked against a schema. Throws as parseJson does. */
export function readJson<Schema extends TSchema>(request: FastifyRequest, schema: Schema): Static<Schema> {
  const value = parseJson(request);
  if (value === undefined) throw new CarillonError('INVALID_REQUEST', 'the body is empty, expected JSON');
  return checkValue(value, schema, 'the body');
}

/**
 * Returns a value, checked against a schema; `what` names it in the text. Throws INVALID_REQUEST, also for a member
 * that is not in the object's schema, so that mistyped names are reported.
 */
export function checkValue<Schema extends TSchema>(value: unknown, schema: Schema, what: string): Static<Schema> {
  const unknown = unknownMember(value, schema);
  if (unknown !== null) throw new CarillonError('INVALID_REQUEST', `${what} has a member ${unknown}`);
  if (compiled(schema).Check(value)) return value;
  const problem = Value.Errors(schema, value).First();
  if (problem === undefined) throw new CarillonError('INVALID_REQUEST', `${what} does not fit`);
  const where = problem.path === '' ? what : `${what}: ${problem.path.slice(1).replaceAll('/', '.')}`;
  const is = problem.value === undefined ? 'missing' : shown(problem.value);
  throw new CarillonError('INVALID_REQUEST', `${where} is ${is}, expected ${expectation(problem.schema)}`);
}

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>();

/** Compiles a schema to a function, once: a batch checks a thousand items. */
function compiled<Schema extends TSchema>(schema: Schema): TypeCheck<Schema> {
  const known = checks.get(schema);
  if (known !== undefined) return known as TypeCheck<Schema>;
  const check = TypeCompiler.Compile(schema);
  checks.set(schema, check);
  return check;
}

/** Returns the first member that is not in the schema, with the nearest one that is; null when there is none. */
function unknownMember(value: unknown, schema: TSchema): string | null {
  if (!KindGuard.IsObject(schema) || typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const known = Object.keys(schema.properties);
  const name = Object.keys(value).find((member) => !known.includes(member));
  if (name === undefined) return null;
  const near = nearestName(name.slice(0, 64), known);
  return `${shown(name)} that means nothing here; did you mean ${near}?`;
}

/** Returns in words what a schema expects. */
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

const SHOWN_LENGTH = 60;

/** Returns the beginning of a value as JSON, without writing all of a large one. */
function shown(value: unknown): string {
  let parts = 0;
  const text = JSON.stringify(value, (_name, part: unknown) => {
    parts += 1;
    if (parts > SHOWN_LENGTH) return undefined;
    return typeof part === 'string' ? part.slice(0, SHOWN_LENGTH + 1) : part;
  });
  return text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}…`;
}
