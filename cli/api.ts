/** Calls the API and turns whatever goes wrong into one line that says what to do. */
import type { Connection } from './connection.js';
import { CliError, usageError } from './io.js';
import { oneLine } from './text.js';

/** An answer takes longer only when nobody is going to give it. */
const ANSWER_TIMEOUT_MS = 60_000;

export interface Call {
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Names and values; a name may come several times. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array;
  readonly json?: unknown;
}

export class Api {
  constructor(private readonly connection: Connection) {}

  /** Calls as a tenant, or below /admin as the administrator, and gives the JSON of the answer. Throws a CliFault. */
  async call(method: string, path: string, call: Call = {}): Promise<unknown> {
    const target = `${this.connection.url}${path}${queryOf(call.query)}`;
    const headers = this.#headers(path, call);
    const body = call.json === undefined ? call.body : Buffer.from(JSON.stringify(call.json));
    let status: number;
    let text: string;
    try {
      const response = await fetch(target, {
        method,
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
        ...(body === undefined ? {} : { body }),
      });
      status = response.status;
      text = await response.text();
    } catch (error) {
      throw this.#unreachable(error);
    }
    return this.#answer(status, text);
  }

  #headers(path: string, call: Call): Headers {
    const isAdmin = path.startsWith('/admin');
    const token = isAdmin ? this.connection.adminToken : this.connection.token;
    if (token === null) throw usageError(`this command needs ${isAdmin ? '--admin-token' : '--token'}`);
    const headers = new Headers();
    set(headers, 'authorization', `Bearer ${token}`);
    if (call.json !== undefined) headers.set('content-type', 'application/json');
    for (const [name, value] of call.headers ?? []) set(headers, name, value);
    return headers;
  }

  #unreachable(error: unknown): CliError {
    const { url, advice } = this.connection;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : (error as Error);
    const { code } = cause as NodeJS.ErrnoException;
    const why = code ?? (cause.name === 'TimeoutError' ? 'no answer in time' : cause.message);
    const isRefused = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].includes(why);
    if (isRefused) return new CliError(`${url} cannot be reached (${why}): ${advice}`, 1, true);
    return new CliError(
      `${url} gave no answer (${oneLine(why)}): what was asked for may or may not have been done`,
      1,
      true,
    );
  }

  #answer(status: number, text: string): unknown {
    let answer: unknown;
    try {
      answer = JSON.parse(text);
    } catch {
      throw new CliError(
        `${this.connection.url} answered ${status} with something that is no JSON: is this the address of Carillon?`,
        1,
      );
    }
    if (status >= 200 && status < 300) return answer;
    const { error } = (answer ?? {}) as { error?: unknown };
    const told = typeof error === 'string' ? oneLine(error) : 'refused without a reason';
    throw new CliError(`${told} (HTTP ${status}${hintOf(status)})`, 1, status === 503 || status === 429);
  }
}

function hintOf(status: number): string {
  if (status === 401) return '; the token comes from connection.json or --token';
  return status === 503 || status === 429 ? '; try again in a moment' : '';
}

/** Header values travel as bytes; the API reads them as UTF-8. */
function set(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, Buffer.from(value, 'utf8').toString('latin1'));
  } catch {
    throw usageError(`${JSON.stringify(name.slice(0, 60))}: its name or its value can be in no header`);
  }
}

function queryOf(query: Call['query'] = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, given] of Object.entries(query)) {
    for (const value of typeof given === 'string' ? [given] : (given ?? [])) parameters.append(name, value);
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
