// Facts about callback bodies: the documented fields, bytes in base64, nothing null.
import { expect, it } from 'vitest';
import { buildCallbackBody } from '../../../src/delivery/callback.js';

const input = {
  status: 500,
  header: { 'content-type': ['text/plain'], 'set-cookie': ['a', 'b'] },
  body: Uint8Array.from([0, 255, 1]),
  retried: 1,
  maxRetries: 3,
  sourceMessageId: 'msg_1',
  url: 'https://a.test/p?x=1',
  method: 'POST',
  sourceHeader: { 'Content-Type': ['application/json'] },
  sourceBody: Buffer.from('{"a":1}'),
  notBeforeMs: 1_700_000_000_000,
  createdAtMs: 1_699_999_999_000,
};
const plain = {
  status: 500,
  header: { 'Content-Type': ['text/plain'], 'Set-Cookie': ['a', 'b'] },
  body: 'AP8B',
  retried: 1,
  maxRetries: 3,
  sourceMessageId: 'msg_1',
  url: 'https://a.test/p?x=1',
  method: 'POST',
  sourceHeader: { 'Content-Type': ['application/json'] },
  sourceBody: 'eyJhIjoxfQ==',
  notBefore: 1_700_000_000_000,
  createdAt: 1_699_999_999_000,
};

it('a callback has the documented fields and leaves out what there is not', () => {
  expect(JSON.parse(buildCallbackBody(input).toString())).toEqual(plain);
  expect(JSON.parse(buildCallbackBody({ ...input, scheduleId: null, callerIp: null, dlqId: null }).toString())).toEqual(
    plain,
  );
});

it('a failure callback names the dead letter, a schedule its schedule', () => {
  const body = buildCallbackBody({
    ...input,
    scheduleId: 'scd_1',
    callerIp: '1.2.3.4',
    dlqId: '1700000000000-0',
    topicName: 't',
    endpointName: 'e',
  });
  expect(JSON.parse(body.toString())).toEqual({
    ...plain,
    scheduleId: 'scd_1',
    callerIP: '1.2.3.4',
    dlqId: '1700000000000-0',
    topicName: 't',
    endpointName: 'e',
  });
});
