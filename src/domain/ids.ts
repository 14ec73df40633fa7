// Ids of messages and schedules. A message id is a UUIDv7 whose time is the due time, so that partitions and index
// ranges follow time.

import { createHash } from 'node:crypto';
import { CarillonError, invariant } from './errors.js';

/** A message id as stored and used in keys: 32 lower-case hexadecimal digits of a UUIDv7. */
export type MessageId = string;

const MESSAGE_ID = /^[0-9a-f]{32}$/;
const WIRE_PREFIX = 'msg_';
const MAX_TIME_MS = 2 ** 48 - 1;

/** An id needs ten random bytes; more are ignored. */
export const ID_RANDOM_BYTES = 10;

/** A scratch buffer for composing ids; its contents are not used between calls. */
const bytes = Buffer.alloc(16);

/**
 * Returns a new message id. `dueAtMs` is its time (whole milliseconds, 0 to 2^48-1), `random` at least ten random
 * bytes.
 */
export function messageId(dueAtMs: number, random: Uint8Array): MessageId {
  invariant(random.length >= ID_RANDOM_BYTES, `an id takes ${ID_RANDOM_BYTES} random bytes, got ${random.length}`);
  const time = Math.floor(dueAtMs);
  invariant(time >= 0 && time <= MAX_TIME_MS, `a due time of ${dueAtMs} ms does not fit an id`);
  bytes.writeUIntBE(time, 0, 6);
  for (let index = 0; index < ID_RANDOM_BYTES; index++) bytes[6 + index] = random[index] ?? 0;
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex');
}

/**
 * Returns the id of an occurrence's message. Its random part is a hash of (tenant, schedule, nominal time), so that
 * every node computes the same id and it can be inserted only once.
 */
export function occurrenceMessageId(
  tenantId: number,
  scheduleId: string,
  occurrenceAtMs: number,
  dueAtMs: number,
): MessageId {
  const hash = createHash('sha256').update(`${tenantId}\n${scheduleId}\n${occurrenceAtMs}`).digest();
  return messageId(dueAtMs, hash);
}

/** Returns the due time in an id, in milliseconds since the epoch. */
export function messageIdTimeMs(id: MessageId): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/**
 * Returns the smallest id of a time: every id due at or after `timeMs` is greater or equal, every earlier one is less.
 */
export function messageIdFloor(timeMs: number): MessageId {
  const time = Math.min(Math.max(Math.floor(timeMs), 0), MAX_TIME_MS);
  return time.toString(16).padStart(12, '0') + '0'.repeat(20);
}

/** Returns the id as clients see it: `msg_` and the id. */
export function toWireMessageId(id: MessageId): string {
  return WIRE_PREFIX + id;
}

/** Parses the result of `toWireMessageId`; returns null for any other text. */
export function fromWireMessageId(text: string): MessageId | null {
  if (!text.startsWith(WIRE_PREFIX)) return null;
  const id = text.slice(WIRE_PREFIX.length);
  return MESSAGE_ID.test(id) ? id : null;
}

/** Returns the id of a UUID: PostgreSQL prints dashes, ids have none. */
export function fromUuid(uuid: string): MessageId {
  return uuid.replaceAll('-', '');
}

/**
 * Excludes "." and "..": in the path of a URL they are steps, so that such a schedule could not be fetched or deleted.
 */
const SCHEDULE_ID = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,256}$/;

/** Returns whether a text can be a schedule's id. */
export function isScheduleId(text: string): boolean {
  return SCHEDULE_ID.test(text);
}

/** Checks a client's schedule id. Throws INVALID_REQUEST. */
export function checkScheduleId(text: string): string {
  if (isScheduleId(text)) return text;
  throw new CarillonError(
    'INVALID_REQUEST',
    `Upstash-Schedule-Id is "${text.slice(0, 80)}", expected 1 to 256 letters, digits, "-", "_" or ".", and neither "." nor ".."`,
  );
}

/** Returns a generated schedule id. `random` is at least ten random bytes. */
export function generatedScheduleId(random: Uint8Array): string {
  invariant(random.length >= ID_RANDOM_BYTES, `an id takes ${ID_RANDOM_BYTES} random bytes`);
  return 'scd_' + Buffer.from(random.subarray(0, ID_RANDOM_BYTES)).toString('hex');
}
