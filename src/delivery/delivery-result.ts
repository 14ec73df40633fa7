// The result of one attempt: the receiver's answer, or the reason why there was none.

import { isIP } from 'node:net';

/** Our own error codes; any other is from the platform (ECONNREFUSED, ENOTFOUND, CERT_HAS_EXPIRED…) or from undici. */
export type DeliveryErrorCode = 'TIMEOUT' | 'ABORTED' | 'INVALID_REQUEST' | 'INVALID_ANSWER' | 'DESTINATION_REFUSED';

export interface DeliveryResponse {
  readonly kind: 'response';
  readonly status: number;
  /** By lower-case name. Parsed on first use: most are never read. */
  readonly headers: Readonly<Record<string, string[]>>;
  /** The first bytes of the answer's body, at most the requested number. */
  readonly body: Buffer;
  /** Whether the body was longer. */
  readonly truncated: boolean;
  readonly durationMs: number;
}

export interface DeliveryError {
  readonly kind: 'error';
  /** For people; of bounded length, without control characters. */
  readonly message: string;
  /** `ABORTED` is caused by this node (a signal, a closed client) and does not describe the receiver. */
  readonly code: DeliveryErrorCode | (string & Record<never, never>);
  readonly durationMs: number;
}

export type DeliveryResult = DeliveryResponse | DeliveryError;

const MAX_MESSAGE_LENGTH = 500;

export class ReceivedResponse implements DeliveryResponse {
  readonly kind = 'response';
  private parsed: Record<string, string[]> | null = null;

  constructor(
    readonly status: number,
    readonly body: Buffer,
    readonly truncated: boolean,
    readonly durationMs: number,
    private readonly rawHeaders: readonly Buffer[],
  ) {}

  get headers(): Readonly<Record<string, string[]>> {
    this.parsed ??= parseHeaders(this.rawHeaders);
    return this.parsed;
  }
}

function parseHeaders(raw: readonly Buffer[]): Record<string, string[]> {
  // Without a prototype: a receiver may name a header __proto__.
  const headers = Object.create(null) as Record<string, string[]>;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]?.toString('latin1').toLowerCase() ?? '';
    const value = raw[i + 1]?.toString('latin1').replaceAll('\0', ' ') ?? '';
    (headers[name] ??= []).push(value);
  }
  return headers;
}

/** Returns the first whole headers whose names and values fit in `maxBytes`. */
export function firstHeaders(headers: DeliveryResponse['headers'], maxBytes: number): DeliveryResponse['headers'] {
  const selected = Object.create(null) as Record<string, string[]>;
  let bytes = 0;
  for (const [name, values] of Object.entries(headers)) {
    bytes += values.reduce((sum, value) => sum + name.length + value.length, 0);
    if (bytes > maxBytes) break;
    selected[name] = values;
  }
  return selected;
}

/** Returns an error result whose text can be stored anywhere. */
export function deliveryError(code: string, message: string, durationMs: number): DeliveryError {
  // eslint-disable-next-line no-control-regex
  const clean = message.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();
  const bounded = clean.length > MAX_MESSAGE_LENGTH ? `${clean.slice(0, MAX_MESSAGE_LENGTH - 1)}…` : clean;
  return { kind: 'error', code, message: bounded, durationMs };
}

/** Runs of characters that addresses consist of; `isIP` checks them. */
const PERHAPS_ADDRESS = /[0-9a-f.:]{2,}(?:%\w+(?::\d+)?)?/gi;
/** An address with a port, with or without brackets around it. */
const WITH_PORT = /^(.+):(\d{1,5})$/;

/**
 * Returns the text with the destination's host in place of each address, and without this node's own. The platform
 * names the addresses that it tried, and the sender of the message must not learn more of the network than its URL
 * contains.
 */
function withoutAddresses(text: string, host: string): string {
  return text
    .replace(/ - Local \([^)]*\)/g, '')
    .replace(PERHAPS_ADDRESS, (found) => {
      const bare = found.replace(/[.:]+$/, '');
      const end = found.slice(bare.length);
      if (isIP(bare) !== 0) return host + end;
      const [, address = '', port = ''] = WITH_PORT.exec(bare) ?? [];
      return isIP(address) === 0 ? found : `${host}:${port}${end}`;
    })
    .replaceAll(`[${host}]`, host);
}

/** Returns the error result for an error of the platform or undici about this host (as written in its URL). */
export function describeFailure(error: unknown, durationMs: number, host: string): DeliveryError {
  if (!(error instanceof Error)) return deliveryError('UNKNOWN', withoutAddresses(String(error), host), durationMs);
  const code = codeOf(error);
  // Several addresses were tried: the text joins their errors.
  const texts = error instanceof AggregateError ? error.errors.map(messageOf) : [error.message];
  const message = [...new Set(texts.map((text) => withoutAddresses(text, host)))].join('; ');
  switch (code) {
    case 'UND_ERR_INVALID_ARG':
    case 'UND_ERR_NOT_SUPPORTED':
      return deliveryError('INVALID_REQUEST', `the request cannot be sent: ${message}`, durationMs);
    case 'UND_ERR_SOCKET':
      return deliveryError(code, `the connection was closed before the answer was complete (${message})`, durationMs);
    case 'ECONNRESET':
      return deliveryError(code, `the connection was reset before the answer was complete (${message})`, durationMs);
    case 'UND_ERR_HEADERS_OVERFLOW':
      return deliveryError(
        code,
        'the headers of the answer are too large (CARILLON_RESPONSE_HEADER_MAX_BYTES)',
        durationMs,
      );
    default:
      return deliveryError(code, message === '' ? code : message, durationMs);
  }
}

/** Returns whether a failure means only that a socket was lost. */
export function isSocketLoss(error: unknown): boolean {
  return error instanceof Error && ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(error));
}

function codeOf(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code;
  // undici's parser sets no code on its errors.
  if (error.name === 'HTTPParserError') return 'INVALID_ANSWER';
  return 'UNKNOWN';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
