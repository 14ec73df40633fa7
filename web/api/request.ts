// Calls the API of the node that served the page. What the API says when it refuses is the fault's text, word for word.

import { session, signOut } from '../session.js';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(text);
  }
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: object | string;
  readonly signal?: AbortSignal;
  /** Instead of that of whoever is signed in. */
  readonly token?: string;
}

/** Throws an ApiFault. */
export async function request<Answer>(path: string, call: Call = {}): Promise<Answer> {
  const headers = new Headers(call.token === undefined ? identity(path) : { authorization: `Bearer ${call.token}` });
  for (const [name, value] of Object.entries(call.headers ?? {})) headers.set(name, asBytes(value));
  const init: RequestInit = { method: call.method ?? 'GET', headers, cache: 'no-store' };
  if (call.body !== undefined) init.body = typeof call.body === 'string' ? call.body : JSON.stringify(call.body);
  if (call.signal !== undefined) init.signal = call.signal;
  const response = await answerTo(path + queryText(call.query ?? {}), init);
  const value = await read(response);
  if (response.ok) return value as Answer;
  const problem = new ApiError(response.status, errorText(value, response));
  // The token was taken away, or is a wrong one: there is nothing to do here without one.
  if (response.status === 401 && call.token === undefined) signOut(problem.message);
  throw problem;
}

/** An administrator acts for a tenant by naming it. */
function identity(path: string): Record<string, string> {
  const { token = '', role, tenant = '' } = session.value ?? {};
  const authorization = `Bearer ${token}`;
  return role === 'admin' && path.startsWith('/v2') ? { authorization, 'carillon-tenant': tenant } : { authorization };
}

async function answerTo(target: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(target, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'No answer: the node that served this page is not there, or cannot be reached');
  }
}

async function read(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function errorText(value: unknown, response: Response): string {
  if (typeof value === 'object' && value !== null && 'error' in value && typeof value.error === 'string') {
    return value.error;
  }
  return `${response.status} ${response.statusText}`.trim();
}

function queryText(query: NonNullable<Call['query']>): string {
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    [values]
      .flat()
      .filter((value) => value !== '')
      .map((value) => [name, value]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

/** Header values are bytes; the API reads them as UTF-8. */
function asBytes(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** The text to show for whatever was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
