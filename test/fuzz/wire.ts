// A request as the bytes that are sent: every string here holds one byte a character, so nothing is normalised on the way.

import { gzipSync } from 'node:zlib';
import type { Caller, Draft } from './draft.js';
import { jsonText } from './json-mutations.js';

export interface WireRequest {
  method: string;
  target: string;
  version: string;
  readonly headers: [name: string, value: string][];
  body: Buffer | null;
  isChunked: boolean;
  /** The caller, as far as the mutations left it clear. */
  caller: Caller;
  /** Whether a server may wait for more of it, or read it as something else. */
  isBroken: boolean;
  /** What is done to the bytes in the end. */
  damage: ((bytes: Buffer) => Buffer) | null;
}

/** Bytes of a text, one a character. A lone surrogate is encoded like any other character, which is no UTF-8. */
function bytesOfText(text: string): string {
  const parts = text.split(/([\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff])/);
  return parts
    .map((part, index) => (index % 2 === 1 ? surrogate(part) : Buffer.from(part).toString('latin1')))
    .join('');
}

function surrogate(character: string): string {
  const code = character.charCodeAt(0);
  return String.fromCharCode(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
}

function percentEncoded(text: string): string {
  return bytesOfText(text).replace(/[^A-Za-z0-9_.~-]/g, (byte) => {
    return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/** A destination stands in the path as it is, but for what would end the request line. */
function destination(text: string): string {
  return bytesOfText(text).replace(/[^\x21-\x7e]/g, percentEncoded);
}

/** Puts a draft on the wire as a well-behaved client would. */
export function wireOf(draft: Draft, tokens: ReadonlyMap<Caller, string>, host: string): WireRequest {
  const path = draft.operation.path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const value = draft.path.get(name) ?? '';
    return /^[a-z]+:\/\//i.test(value) ? destination(value) : percentEncoded(value);
  });
  const query = draft.query.map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`).join('&');
  const token = tokens.get(draft.caller);
  const headers: [string, string][] = [['Host', host]];
  if (token !== undefined) headers.push(['Authorization', `Bearer ${token}`]);
  for (const [name, value] of draft.headers) headers.push([bytesOfText(name), bytesOfText(value)]);
  const { body } = draft;
  return {
    method: draft.operation.method,
    target: path + (query === '' ? '' : `${path.includes('?') ? '&' : '?'}${query}`),
    version: 'HTTP/1.1',
    headers,
    body: body === null ? null : 'json' in body ? Buffer.from(bytesOfText(jsonText(body.json)), 'latin1') : body.bytes,
    isChunked: false,
    caller: draft.caller,
    isBroken: false,
    damage: null,
  };
}

const CHUNK_BYTES = 1_000;

export function encode(request: WireRequest): Buffer {
  const { method, target, version, headers, body, isChunked, damage } = request;
  const lines = [`${method} ${target} ${version}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  const isFramed = headers.some(([name]) => name.toLowerCase() === 'content-length');
  if (body !== null && isChunked) lines.push('Transfer-Encoding: chunked');
  else if (body !== null && !isFramed) lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  const bytes = Buffer.concat([head, body === null ? Buffer.alloc(0) : isChunked ? chunked(body) : body]);
  return damage === null ? bytes : damage(bytes);
}

function chunked(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += CHUNK_BYTES) {
    const part = body.subarray(at, at + CHUNK_BYTES);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

const SHOWN_BYTES = 1_500;

/** The bytes so that they can be sent again: as a JSON string when they are printable and few, else compressed. */
export function shownBytes(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  if (bytes.length <= SHOWN_BYTES && /^[\x20-\x7e\r\n\t]*$/.test(text)) return `as JSON text: ${JSON.stringify(text)}`;
  return `(base64 -d | gunzip): ${gzipSync(bytes).toString('base64')}`;
}
