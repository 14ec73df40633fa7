// Judges what came back: which answers no request may ever get, whatever it is.

import path from 'node:path';
import type { Answer, Exchange } from './connection.js';
import { isSpelledAs, operationOf, pathOf, type Operation } from './document.js';
import type { Caller } from './draft.js';

export interface Judged {
  readonly exchange: Exchange;
  /** As sent: method and target are read from it. */
  readonly bytes: Buffer;
  readonly caller: Caller;
  readonly isBroken: boolean;
}

/** Statuses of HTTP itself, which any path may answer with. */
const TRANSPORT_STATUSES: ReadonlySet<number> = new Set([408, 413, 414, 417, 431]);
/** What a node serves beside the API: its document, and the console's files. */
const BESIDE_THE_API = /^\/(?:openapi\.json|admin\/?|admin\/assets\/.*|admin\/[\w-]+\.[a-z0-9]+)$/;
const ERROR_MAX_LENGTH = 1_500;
const ROOT = path.resolve(import.meta.dirname, '../..');

/** Traces of what is behind the API. No request of the fuzz has one of them, so an error does not repeat it. */
const INTERNALS = [
  ...[/\n\s+at /, /node_modules/, /node:internal/, /\.(?:ts|js|mjs|sql|lua):\d+/, /file:\/\/\/(?!etc)/],
  ...[/TypeError|RangeError|ReferenceError|Cannot read propert|is not a function|is not iterable|invariant violated/],
  ...[/syntax error at or near|invalid byte sequence|violates .*constraint|relation "|ECONN|WRONGTYPE|ERR Error/],
  ...[/out of range for type|invalid input syntax|could not determine/, /\[object Object\]/],
];

/** Judges exchanges over a run: what one tenant was given must never be shown to another. */
export class Judge {
  /** Ids that were told to a tenant, with the tenant. */
  readonly messages = new Map<string, Caller>();
  readonly #succeeded = new Set<string>();

  constructor(private readonly operations: readonly Operation[]) {}

  /** Operations that no request succeeded with. */
  untouched(): string[] {
    return this.operations.map(({ name }) => name).filter((name) => !this.#succeeded.has(name));
  }

  /** What is wrong, in a sentence each. */
  violationsOf(
    { exchange, bytes, caller, isBroken }: Judged,
    limitMs: number,
  ): { operation: string; violations: string[] } {
    const [method = '', target = ''] = (bytes.toString('latin1').split(/\r?\n/, 1)[0] ?? '').split(' ');
    const operation = operationOf(this.operations, method, target);
    const name = operation?.name ?? `${method.slice(0, 20)} ${pathOf(target).slice(0, 60)}`;
    const violations: string[] = [];
    if (exchange.tookMs > limitMs || exchange.ending === 'late') {
      violations.push(`took longer than ${limitMs} ms`);
    }
    if (exchange.ending === 'closed' && !isBroken && method !== 'CONNECT')
      violations.push('the connection ended without an answer');
    // An answer to what cannot be read has a body, also where it was HEAD, and ends the connection.
    const isLast = exchange.answers.some(({ headers }) => headers.get('connection') === 'close');
    if (exchange.rest.length > 0 && !isBroken && !isLast) violations.push('more came than the answer');
    for (const [index, answer] of exchange.answers.entries()) {
      const [first, by] = index === 0 ? [operation, caller] : [null, 'unclear' as const];
      violations.push(
        ...this.#violationsOfAnswer(answer, first, { method, target, caller: by, isFirst: index === 0, isBroken }),
      );
    }
    return { operation: name, violations };
  }

  #violationsOfAnswer(answer: Answer, operation: Operation | null, request: Request): string[] {
    const { status } = answer;
    const violations = [...statusViolations(answer, operation, request), ...headerViolations(answer)];
    const isSuccess = status >= 200 && status < 300;
    if (request.method === 'HEAD' || status === 304 || status === 101) return violations;
    const isJson = /^application\/json\b/.test(answer.headers.get('content-type') ?? '');
    const json = isJson ? parsed(answer.body) : undefined;
    if (isJson && json === undefined) violations.push('the answer says that it is JSON and is not');
    if (status >= 400) violations.push(...errorViolations(answer, json, request));
    if (!isSuccess || operation === null) return violations;
    violations.push(...shapeViolations(operation, status, json));
    if (request.method === operation.method) this.#succeeded.add(operation.name);
    if (violations.length > 0 || !request.isFirst) return violations;
    return this.#violationsOfIds(json, request.caller).map((fault) => fault + spellingOf(operation, request.target));
  }

  #violationsOfIds(json: unknown, caller: Caller): string[] {
    if (caller !== 'default' && caller !== 'rival') return [];
    const ids: string[] = [];
    collectMessageIds(json, ids);
    const foreign = ids.filter((id) => (this.messages.get(id) ?? caller) !== caller);
    for (const id of ids) if (!this.messages.has(id)) this.messages.set(id, caller);
    return foreign.length === 0 ? [] : [`shows another tenant's message`];
  }
}

interface Request {
  readonly method: string;
  readonly target: string;
  readonly caller: Caller;
  readonly isFirst: boolean;
  readonly isBroken: boolean;
}

function statusViolations({ status, headers, body }: Answer, operation: Operation | null, request: Request): string[] {
  if (status >= 500 && status !== 501) {
    if (status !== 503) return [`answered with ${status}`];
    return /^\d+$/.test(headers.get('retry-after') ?? '') ? [] : ['503 without Retry-After'];
  }
  if (!request.isFirst) return [];
  const isSuccess = status >= 200 && status < 300;
  if (operation === null) {
    const isServed = isSuccess && !BESIDE_THE_API.test(pathOf(request.target));
    return isServed ? [`${status}, and the document has no such operation`] : [];
  }
  const violations: string[] = [];
  // Refused before its operation was known.
  const isUnreadable = status === 400 && (request.method === 'HEAD' || body.includes('this is no valid HTTP request'));
  if (isSuccess && operation.security !== null && !mayCall(request.caller, operation)) {
    violations.push(`${status} for the caller "${request.caller}"${spellingOf(operation, request.target)}`);
  }
  const isOfHttp = TRANSPORT_STATUSES.has(status) || isUnreadable;
  // Where the document's path is written in another way, the path may as well be unknown.
  const isUnknown = (status === 404 || status === 405) && !isSpelledAs(operation, request.target);
  if (!operation.answers.has(status) && !isOfHttp && !isUnknown) {
    violations.push(`the document does not list the status ${status}`);
  }
  return violations;
}

/** Ends a sentence about a target that is not written as in the document. */
function spellingOf(operation: Operation, target: string): string {
  return isSpelledAs(operation, target) ? '' : ', for a path that is written in another way';
}

function mayCall(caller: Caller, { security }: Operation): boolean {
  if (caller === 'unclear' || caller === 'admin') return true;
  return caller !== 'nobody' && security === 'token';
}

function headerViolations({ headers, status }: Answer): string[] {
  const type = headers.get('content-type') ?? '';
  // Everything that a browser could take for a page must say what it is.
  return status >= 400 && type.includes('html') ? [`an error of the type ${type}`] : [];
}

function errorViolations({ body }: Answer, json: unknown, request: Request): string[] {
  const text = body.toString();
  // The console's files are for browsers, and what is missing of them is told in plain text.
  if (json === undefined && BESIDE_THE_API.test(pathOf(request.target))) return [];
  const violations: string[] = [];
  const error = typeof json === 'object' && json !== null && 'error' in json ? json.error : undefined;
  if (typeof error !== 'string' || error === '') violations.push('an error without the JSON {"error": text}');
  else if (error.length > ERROR_MAX_LENGTH)
    violations.push(`an error text of more than ${ERROR_MAX_LENGTH} characters`);
  const shown = INTERNALS.find((pattern) => pattern.test(typeof error === 'string' ? error : text));
  if (shown !== undefined) violations.push(`an error text that shows internals: ${String(shown)}`);
  if (text.includes(ROOT)) violations.push('an error text with a path of this machine');
  return violations;
}

function shapeViolations({ answers }: Operation, status: number, json: unknown): string[] {
  const check = answers.get(status);
  if (check === undefined || check === null || check(json)) return [];
  const first = check.errors?.[0];
  return [
    `the answer does not fit its schema: ${first?.instancePath.replace(/\d+/g, '0') ?? ''} ${first?.message ?? ''}`,
  ];
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}

function collectMessageIds(json: unknown, into: string[]): void {
  if (typeof json !== 'object' || json === null) return;
  for (const [name, value] of Object.entries(json)) {
    if (name === 'messageId' && typeof value === 'string' && /^msg_[0-9a-f]{32}$/.test(value)) into.push(value);
    else collectMessageIds(value, into);
  }
}
