// Ids are the timeline: their order is that of due times, they are UUIDs of version 7, and an occurrence's can be made again.

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkScheduleId,
  fromUuid,
  fromWireMessageId,
  generatedScheduleId,
  messageId,
  messageIdFloor,
  messageIdTimeMs,
  occurrenceMessageId,
  toWireMessageId,
} from '../../../src/domain/ids.js';

const MAX_TIME_MS = 2 ** 48 - 1;
const time = fc.integer({ min: 0, max: MAX_TIME_MS });
const random = fc.uint8Array({ minLength: 10, maxLength: 16 });
const seed = { seed: 7_117 };

describe('a message id', () => {
  it('is a UUID of version 7 that tells its due time', () => {
    fc.assert(
      fc.property(time, random, (atMs, bytes) => {
        const id = messageId(atMs, bytes);
        expect(id).toMatch(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
        expect(messageIdTimeMs(id)).toBe(atMs);
      }),
      seed,
    );
  });

  it('is ordered by due time whatever the chance', () => {
    fc.assert(
      fc.property(time, time, random, random, (a, b, x, y) => {
        fc.pre(a < b);
        expect(messageId(a, x) < messageId(b, y)).toBe(true);
      }),
      seed,
    );
  });

  it('lies at or above the floor of its time and below that of the next millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_TIME_MS - 1 }), random, (atMs, bytes) => {
        const id = messageId(atMs, bytes);
        expect(messageIdFloor(atMs) <= id && id < messageIdFloor(atMs + 1)).toBe(true);
      }),
      seed,
    );
  });

  it('takes the floor of a broken millisecond, and no time outside of 48 bits', () => {
    expect(messageIdTimeMs(messageId(1_000.9, randomBytes(10)))).toBe(1_000);
    expect(() => messageId(-1, randomBytes(10))).toThrow(/due time/);
    expect(() => messageId(MAX_TIME_MS + 1, randomBytes(10))).toThrow(/due time/);
    expect(() => messageId(0, randomBytes(9))).toThrow(/random/);
  });

  it('has a floor for any time at all', () => {
    expect(messageIdFloor(-5)).toBe('0'.repeat(32));
    expect(messageIdFloor(Infinity)).toBe('f'.repeat(12) + '0'.repeat(20));
  });

  it('comes back from what clients see and from what PostgreSQL prints', () => {
    const id = messageId(1_795_000_000_000, randomBytes(10));
    expect(fromWireMessageId(toWireMessageId(id))).toBe(id);
    expect(fromUuid(id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'))).toBe(id);
    for (const text of [id, 'msg_', `msg_${id}0`, `msg_${id.toUpperCase()}`, `MSG_${id}`, `msg_${id.slice(1)}g`, '']) {
      expect(fromWireMessageId(text), text).toBeNull();
    }
  });
});

describe("an occurrence's id", () => {
  it('is the same whoever makes it, and another for each tenant, schedule and nominal time', () => {
    const of = (tenantId: number, scheduleId: string, atMs: number): string =>
      occurrenceMessageId(tenantId, scheduleId, atMs, 5_000);
    expect(of(1, 'a', 1_000)).toBe(of(1, 'a', 1_000));
    const others = [of(1, 'a', 1_000), of(2, 'a', 1_000), of(1, 'b', 1_000), of(1, 'a', 2_000), of(11, 'a', 1_000)];
    expect(new Set(others).size).toBe(others.length);
  });

  it('never changes, so that a newer version meets the rows of an older one', () => {
    expect(occurrenceMessageId(1, 'nightly', 1_795_000_000_000, 1_795_000_007_000)).toBe(
      '01a1ee5679587016a6aec010495320c6',
    );
  });
});

describe("a schedule's id", () => {
  it('given by a client may have letters, digits, and three marks', () => {
    for (const id of ['a', 'A-b_c.9', '...', '.a', 'x'.repeat(256)]) expect(checkScheduleId(id)).toBe(id);
    // Issue 12: "." and ".." are steps in the path of a URL, so that the official client could not fetch or delete
    // them.
    for (const id of ['', '.', '..', 'a b', 'a/b', 'ä', 'a\n', 'a:b', 'x'.repeat(257)]) {
      expect(() => checkScheduleId(id), id).toThrow(/Upstash-Schedule-Id is/);
    }
  });

  it('that is generated is one that a client may give back', () => {
    const id = generatedScheduleId(randomBytes(10));
    expect(id).toMatch(/^scd_[0-9a-f]{20}$/);
    expect(checkScheduleId(id)).toBe(id);
  });
});
