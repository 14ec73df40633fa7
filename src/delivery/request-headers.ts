// Builds the headers of a delivery: the headers that the client asked to forward, and those that identify the message
// to the receiver.
import type { HeaderMap } from '../domain/message.js';

/** Header with the nominal time of an occurrence. */
const OCCURRENCE_HEADER = 'Carillon-Occurrence';

/** Header with the depth of a message in its chain. */
export const DEPTH_HEADER = 'Carillon-Depth';

export interface DeliveryHeadersInput {
  /** Headers to forward, Content-Type among them, by canonical name. */
  readonly headers: HeaderMap;
  readonly messageId: string;
  /** Retries so far: 0 on the first attempt. */
  readonly retried: number;
  readonly signature: string;
  readonly scheduleId?: string | null;
  readonly callerIp?: string | null;
  readonly labels?: readonly string[];
  /** Nominal time of the occurrence. */
  readonly occurrenceAtMs?: number | null;
  readonly idempotencyKey?: string | null;
  /** Depth of the message in its chain. */
  readonly depth?: number;
}

export type DeliveryHeaders = Readonly<Record<string, string | readonly string[]>>;

/** Never forwarded, in lower case: headers of the connection, and headers that must not be forged. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'http2-settings', 'keep-alive', 'te', 'trailer', 'trailers'],
  ...['transfer-encoding', 'upgrade', '__proto__'],
  ...['upstash-caller-ip', 'upstash-label', 'upstash-message-id', 'upstash-region', 'upstash-retried'],
  ...['upstash-schedule-id', 'upstash-signature', 'upstash-topic-name'],
]);
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
// eslint-disable-next-line no-control-regex
const NOT_IN_HEADERS = /[\x00-\x08\x0a-\x1f\x7f]/g;
const NOT_FORWARDED_PREFIXES = ['proxy-', 'carillon-', 'upstash-telemetry-'] as const;

/** Returns whether a header may be forwarded to a destination. Compares names without case. */
export function isForwardable(name: string): boolean {
  const lower = name.toLowerCase();
  return !NOT_FORWARDED.has(lower) && !NOT_FORWARDED_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

/**
 * Returns the headers of one attempt, without those that may not be forwarded; a forwarded User-Agent replaces ours.
 */
export function buildDeliveryHeaders(input: DeliveryHeadersInput): DeliveryHeaders {
  const result: Record<string, string | readonly string[]> = { 'User-Agent': 'Upstash-QStash' };
  for (const name in input.headers) {
    const values = input.headers[name];
    if (values === undefined || values.length === 0 || !isForwardable(name)) continue;
    const canonical = name.toLowerCase() === 'user-agent' ? 'User-Agent' : name;
    result[canonical] = values.length === 1 ? (values[0] ?? '') : values;
  }
  result['Upstash-Message-Id'] = input.messageId;
  result['Upstash-Retried'] = String(input.retried);
  result['Upstash-Signature'] = input.signature;
  if (input.depth !== undefined) result[DEPTH_HEADER] = String(input.depth);
  if (input.scheduleId != null) result['Upstash-Schedule-Id'] = toHeaderBytes(input.scheduleId);
  if (input.callerIp != null) result['Upstash-Caller-Ip'] = toHeaderBytes(input.callerIp);
  if (input.labels !== undefined && input.labels.length > 0)
    result['Upstash-Label'] = toHeaderBytes(input.labels.join(','));
  if (input.occurrenceAtMs != null) result[OCCURRENCE_HEADER] = new Date(input.occurrenceAtMs).toISOString();
  if (input.idempotencyKey != null) result['Carillon-Idempotency-Key'] = toHeaderBytes(input.idempotencyKey);
  return result;
}

/** Returns the canonical case of a header name: `x-order-id` becomes `X-Order-Id`. */
export function canonicalHeaderName(name: string): string {
  const lower = name.toLowerCase();
  // Nearly every message has this one.
  if (lower === 'content-type') return 'Content-Type';
  return lower.replace(/(^|-)([a-z])/g, (part) => part.toUpperCase());
}

/**
 * Returns headers with canonical names; joins the values of names that differ only in case. For answers, whose names
 * are in lower case.
 */
export function canonicalHeaders(headers: HeaderMap): HeaderMap {
  const result = new Map<string, readonly string[]>();
  for (const [name, values] of Object.entries(headers)) {
    const canonical = canonicalHeaderName(name);
    result.set(canonical, [...(result.get(canonical) ?? []), ...values]);
  }
  return Object.fromEntries(result);
}

/**
 * Returns a text as the characters of its UTF-8 bytes, which is how header values are transmitted. Texts from JSON
 * (batch items) need this once, when they are accepted; values of real HTTP headers have that form already. Characters
 * that no header can carry (line breaks, NUL, other control characters) become blanks.
 */
export function toHeaderBytes(text: string): string {
  if (PRINTABLE_ASCII.test(text)) return text;
  return Buffer.from(text, 'utf8').toString('latin1').replace(NOT_IN_HEADERS, ' ');
}
