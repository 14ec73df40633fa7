// Parses the settings that messages and schedules share: how the destination is called, and with what.

import type { Config } from '../config.js';
import { withDepth } from '../domain/depth.js';
import { parseDuration } from '../domain/duration.js';
import { CarillonError } from '../domain/errors.js';
import type { CallbackSpec, DeliveryPolicy, Request } from '../domain/message.js';
import { parseRedaction } from '../domain/redaction.js';
import { compileRetryDelay } from '../domain/retry-delay-expression.js';
import { checkDepth } from './depth.js';
import { checkUrl } from './destination.js';
import type { RequestSettings } from './request-settings.js';

/** Longest deduplication id and label, in bytes of UTF-8: well within the size of an index entry. */
const DEDUPLICATION_ID_MAX_BYTES = 1_024;
const LABEL_MAX_BYTES = 256;

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Returns the request to send: the method (default POST), the forwarded headers, the body. Throws INVALID_REQUEST or
 * PAYLOAD_TOO_LARGE.
 */
export function readRequest(settings: RequestSettings, destination: string, body: Buffer, config: Config): Request {
  if (body.length > config.CARILLON_BODY_MAX_BYTES) throw bodyTooLarge(body.length, config.CARILLON_BODY_MAX_BYTES);
  return {
    destination,
    method: readMethod(settings, 'Upstash-Method') ?? 'POST',
    headers: settings.forwarded,
    body,
  };
}

export function bodyTooLarge(bytes: number | null, maxBytes: number): CarillonError {
  const size = bytes === null ? 'is too large' : `has ${bytes} bytes`;
  return new CarillonError('PAYLOAD_TOO_LARGE', `the body ${size}, at most ${maxBytes} bytes are allowed`);
}

/**
 * Returns the delivery policy. Throws INVALID_REQUEST, INVALID_DESTINATION (callbacks), LIMIT_EXCEEDED,
 * NOT_IMPLEMENTED.
 */
export function readPolicy(settings: RequestSettings, config: Config, callerIp: string | null): DeliveryPolicy {
  refuseUnsupported(settings);
  const redact = valueOf(settings, 'Upstash-Redact-Fields');
  if (redact !== null) parseRedaction(redact);
  return {
    maxRetries: readRetries(settings, 'Upstash-Retries', config) ?? config.CARILLON_RETRIES,
    retryDelay: readRetryDelay(settings, 'Upstash-Retry-Delay'),
    timeoutMs: readTimeoutMs(settings, 'Upstash-Timeout', config) ?? config.CARILLON_TIMEOUT_MS,
    callback: readCallback(settings, 'Upstash-Callback', config),
    failureCallback: readCallback(settings, 'Upstash-Failure-Callback', config),
    labels: readLabels(settings, config),
    redact,
    callerIp,
    ...withDepth(checkDepth(settings.depth, config)),
  };
}

/** Canonical names by lower-case name: they are all our own, and each is looked up for every message. */
const lowerCase = new Map<string, string>();

/** Returns a setting's text, or null when it is absent. `name` is one of our settings. */
export function valueOf(settings: RequestSettings, name: string): string | null {
  let lower = lowerCase.get(name);
  if (lower === undefined) lowerCase.set(name, (lower = name.toLowerCase()));
  return settings.values.get(lower) ?? null;
}

/** Parses `true` or `false` in any case; absent is false. Throws INVALID_REQUEST. */
export function readFlag(settings: RequestSettings, name: string): boolean {
  const text = valueOf(settings, name)?.toLowerCase() ?? 'false';
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw new CarillonError('INVALID_REQUEST', `${name} is ${JSON.stringify(text.slice(0, 40))}, expected true or false`);
}

/** Returns a delay in milliseconds; null when absent. Throws LIMIT_EXCEEDED beyond the furthest due time. */
export function readDelayMs(settings: RequestSettings, name: string, config: Config): number | null {
  const text = valueOf(settings, name);
  if (text === null) return null;
  const delayMs = parseDuration(text, name);
  if (delayMs > config.CARILLON_DELAY_MAX_MS) throw tooFar(name, text, config);
  return delayMs;
}

export function tooFar(name: string, text: string, config: Config, hint = ''): CarillonError {
  const days = config.CARILLON_DELAY_MAX_MS / 86_400_000;
  return new CarillonError(
    'LIMIT_EXCEEDED',
    `${name} is ${JSON.stringify(text.slice(0, 40))}, at most ${days} days ahead are allowed (CARILLON_DELAY_MAX_MS)${hint}`,
  );
}

/** Returns a key or id of bounded length, in bytes of UTF-8. Throws LIMIT_EXCEEDED. */
export function readKey(settings: RequestSettings, name: string, maxBytes: number): string | null {
  const text = valueOf(settings, name);
  if (text !== null && Buffer.byteLength(text) > maxBytes) {
    throw new CarillonError(
      'LIMIT_EXCEEDED',
      `${name} has ${Buffer.byteLength(text)} bytes, at most ${maxBytes} are allowed`,
    );
  }
  return text;
}

/** Returns Upstash-Deduplication-Id. Throws INVALID_REQUEST. */
export function readDeduplicationId(settings: RequestSettings): string | null {
  const text = readKey(settings, 'Upstash-Deduplication-Id', DEDUPLICATION_ID_MAX_BYTES);
  if (text?.includes(':') === true) throw new CarillonError('INVALID_REQUEST', "DeduplicationId cannot contain ':'");
  return text;
}

const UNSUPPORTED: readonly (readonly [setting: string, what: string])[] = [
  ['Upstash-Flow-Control-Key', 'flow control is'],
  ['Upstash-Flow-Control-Value', 'flow control is'],
  ['Upstash-Queue-Name', 'queues are'],
];

function refuseUnsupported(settings: RequestSettings): void {
  for (const [name, what] of UNSUPPORTED) {
    if (valueOf(settings, name) === null) continue;
    throw new CarillonError('NOT_IMPLEMENTED', `${name}: ${what} not implemented yet; leave the header out`);
  }
}

function readMethod(settings: RequestSettings, name: string): string | null {
  const method = valueOf(settings, name)?.toUpperCase() ?? null;
  if (method === null || METHODS.has(method)) return method;
  throw new CarillonError(
    'INVALID_REQUEST',
    `${name} is ${JSON.stringify(method.slice(0, 40))}, expected one of ${[...METHODS].join(', ')}`,
  );
}

function readRetries(settings: RequestSettings, name: string, config: Config): number | null {
  const text = valueOf(settings, name);
  if (text === null) return null;
  if (!/^\d{1,15}$/.test(text)) {
    throw new CarillonError(
      'INVALID_REQUEST',
      `${name} is ${JSON.stringify(text.slice(0, 40))}, expected a whole number from 0`,
    );
  }
  const retries = Number(text);
  if (retries <= config.CARILLON_RETRIES_MAX) return retries;
  throw new CarillonError(
    'LIMIT_EXCEEDED',
    `quota maxRetries exceeded: ${name} is ${retries}, at most ${config.CARILLON_RETRIES_MAX} are allowed (CARILLON_RETRIES_MAX)`,
  );
}

function readRetryDelay(settings: RequestSettings, name: string): string | null {
  const text = valueOf(settings, name);
  if (text !== null) compileRetryDelay(text);
  return text;
}

/** Returns the timeout, which can only reduce the server's limit: a longer one counts as the limit. */
function readTimeoutMs(settings: RequestSettings, name: string, config: Config): number | null {
  const text = valueOf(settings, name);
  if (text === null) return null;
  return Math.min(parseDuration(text, name, { bareSeconds: true, minMs: 1 }), config.CARILLON_TIMEOUT_MAX_MS);
}

function readCallback(settings: RequestSettings, name: string, config: Config): CallbackSpec | null {
  const url = valueOf(settings, name);
  if (url === null) return null;
  const isFailure = name === 'Upstash-Failure-Callback';
  return {
    url: checkUrl(url, isFailure ? 'failure callback' : 'callback', config),
    method: readMethod(settings, `${name}-Method`),
    headers: isFailure ? settings.failureCallbackForwarded : settings.callbackForwarded,
    retries: readRetries(settings, `${name}-Retries`, config),
    retryDelay: readRetryDelay(settings, `${name}-Retry-Delay`),
    timeoutMs: readTimeoutMs(settings, `${name}-Timeout`, config),
    delayMs: readDelayMs(settings, `${name}-Delay`, config),
  };
}

function readLabels(settings: RequestSettings, config: Config): string[] {
  const labels = new Set<string>();
  for (const part of (valueOf(settings, 'Upstash-Label') ?? '').split(',')) {
    const label = part.trim();
    if (label === '') continue;
    if (Buffer.byteLength(label) > LABEL_MAX_BYTES) {
      throw new CarillonError(
        'LIMIT_EXCEEDED',
        `Upstash-Label: ${JSON.stringify(label.slice(0, 40))}… has ${Buffer.byteLength(label)} bytes, at most ${LABEL_MAX_BYTES} are allowed`,
      );
    }
    labels.add(label);
  }
  if (labels.size <= config.CARILLON_LABELS_MAX) return [...labels];
  throw new CarillonError(
    'LIMIT_EXCEEDED',
    `Upstash-Label has ${labels.size} labels, at most ${config.CARILLON_LABELS_MAX} are allowed (CARILLON_LABELS_MAX)`,
  );
}
