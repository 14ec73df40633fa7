// What travels with an entry in Redis: a depth where there is one, and payloads of before there were any (issue 11, A8).
import { expect, it } from 'vitest';
import { decodePayload, encodePayload } from '../../../src/redis/payload.js';
import { fromDeliveryOptions, toDeliveryOptions } from '../../../src/postgres/messages/delivery-options.js';
import { aMessage } from '../../kit/messages.js';

it('carries a depth and the message that a callback repeats', () => {
  const message = aMessage({ depth: 3, sourceOf: '0195d0c0aaaa7bbb8ccc000000000001' });
  expect(decodePayload(message.id, message.shard, encodePayload(message, 1_000))).toEqual(message);
});

it('of a message without a depth is as it was before there were depths, and is read as one without', () => {
  const message = aMessage();
  const payload = encodePayload(message, 1_000);
  expect(payload).not.toContain('depth');
  expect(encodePayload({ ...message, depth: 0 }, 1_000)).toBe(payload);
  expect(decodePayload(message.id, message.shard, payload)).toEqual(message);
});

it('and row agree: options have a depth only where there is one', () => {
  expect(toDeliveryOptions(aMessage({ depth: 0 }))).toEqual({});
  expect(toDeliveryOptions(aMessage({ depth: 2 }))).toEqual({ depth: 2 });
  expect(fromDeliveryOptions({ depth: 2 })).toMatchObject({ depth: 2 });
  expect(fromDeliveryOptions(null)).not.toHaveProperty('depth');
});
