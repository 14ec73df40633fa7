// Facts about the headers of a delivery: what the receiver is told, and what nobody can forge or break.
import { describe, expect, it } from 'vitest';
import {
  buildDeliveryHeaders,
  canonicalHeaderName,
  canonicalHeaders,
  isForwardable,
  toHeaderBytes,
} from '../../../src/delivery/request-headers.js';

const base = { headers: {}, messageId: 'msg_1', retried: 0, signature: 'a.b.c' };

it('a plain delivery has four headers of ours', () => {
  expect(buildDeliveryHeaders(base)).toEqual({
    'User-Agent': 'Upstash-QStash',
    'Upstash-Message-Id': 'msg_1',
    'Upstash-Retried': '0',
    'Upstash-Signature': 'a.b.c',
  });
});

it('an occurrence with everything tells everything', () => {
  const headers = buildDeliveryHeaders({
    ...base,
    headers: { 'Content-Type': ['application/json'], 'X-Many': ['1', '2'], Authorization: ['Bearer t'] },
    retried: 2,
    scheduleId: 'scd_1',
    callerIp: '1.2.3.4',
    labels: ['nightly', 'billing'],
    occurrenceAtMs: Date.UTC(2026, 2, 8, 7),
    idempotencyKey: 'invoice:2026-03:acme',
  });
  expect(headers).toEqual({
    'User-Agent': 'Upstash-QStash',
    'Content-Type': 'application/json',
    'X-Many': ['1', '2'],
    Authorization: 'Bearer t',
    'Upstash-Message-Id': 'msg_1',
    'Upstash-Retried': '2',
    'Upstash-Signature': 'a.b.c',
    'Upstash-Schedule-Id': 'scd_1',
    'Upstash-Caller-Ip': '1.2.3.4',
    'Upstash-Label': 'nightly,billing',
    'Carillon-Occurrence': '2026-03-08T07:00:00.000Z',
    'Carillon-Idempotency-Key': 'invoice:2026-03:acme',
  });
});

describe('forwarding', () => {
  it.each([
    'Host',
    'Content-Length',
    'Connection',
    'Transfer-Encoding',
    'Keep-Alive',
    'Upgrade',
    'Expect',
    'TE',
    'Trailer',
    'Proxy-Authorization',
    'proxy-connection',
    'Upstash-Signature',
    'upstash-signature',
    'UPSTASH-MESSAGE-ID',
    'Upstash-Retried',
    'Upstash-Schedule-Id',
    'Upstash-Caller-Ip',
    'Upstash-Label',
    'Upstash-Topic-Name',
    'Upstash-Region',
    'Upstash-Telemetry-Sdk',
    'Carillon-Occurrence',
    'carillon-idempotency-key',
    '__proto__',
  ])('%s is never forwarded', (name) => {
    expect(isForwardable(name)).toBe(false);
    expect(buildDeliveryHeaders({ ...base, headers: Object.fromEntries([[name, ['forged']]]) })).toEqual(
      buildDeliveryHeaders(base),
    );
  });

  it.each(['Content-Type', 'Authorization', 'Cookie', 'X-Te', 'Upstash-Workflow-Runid', 'Forwarded'])(
    '%s is forwarded',
    (name) => {
      expect(buildDeliveryHeaders({ ...base, headers: { [name]: ['v'] } })[name]).toBe('v');
    },
  );

  it('a forwarded User-Agent takes the place of ours, in any case', () => {
    expect(buildDeliveryHeaders({ ...base, headers: { 'user-agent': ['mine/1'] } })).toEqual({
      ...buildDeliveryHeaders(base),
      'User-Agent': 'mine/1',
    });
  });
});

it('names get their canonical case, and values of one name come together', () => {
  expect(['content-type', 'X-ORDER-ID', 'eTag', 'x-1a-b'].map(canonicalHeaderName)).toEqual([
    'Content-Type',
    'X-Order-Id',
    'Etag',
    'X-1a-B',
  ]);
  expect(canonicalHeaders({ 'set-cookie': ['a', 'b'], 'Set-Cookie': ['c'] })).toEqual({
    'Set-Cookie': ['a', 'b', 'c'],
  });
});

it('any text becomes a value that a header can carry', () => {
  expect(toHeaderBytes('plain')).toBe('plain');
  expect(Buffer.from(toHeaderBytes('é €'), 'latin1').toString('utf8')).toBe('é €');
  expect(toHeaderBytes('a\r\nX: 1\0\ud800')).toMatch(/^a {2}X: 1 \u00ef\u00bf\u00bd$/);
});
