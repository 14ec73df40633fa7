// Facts about callback bodies: the documented fields, bytes in base64, nothing null.
import { expect, it } from 'vitest';
import { buildCallbackBody } from '../../../src/delivery/callback.js';
import { ShownRequest } from '../../../src/domain/shown-request.js';

const input = {
  status: 500,
  header: { 'content-type': ['text/plain'], 'set-cookie': ['a', 'b'] },
  body: Uint8Array.from([0, 255, 1]),
  retried: 1,
  maxRetries: 3,
  sourceMessageId: 'msg_1',
  url: 'https://a.test/p?x=1',
  method: 'POST',
  source: ShownRequest.of({
    headers: { 'Content-Type': ['application/json'] },
    body: Buffer.from('{"a":1}'),
    callback: null,
    failureCallback: null,
    redact: null,
  }),
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

it('a callback cannot be made of a request that was not redacted (issue 11, A6)', () => {
  // For the compiler: it refuses `true` once an object literal with the same members would do.
  const isRefused: Pick<ShownRequest, keyof ShownRequest> extends ShownRequest ? false : true = true;
  expect(isRefused).toBe(true);
  const hidden = ShownRequest.of({
    headers: { Authorization: ['Bearer s3cret'] },
    body: Buffer.from('s3cret'),
    callback: null,
    failureCallback: null,
    redact: 'body,header',
  });
  const made = JSON.parse(buildCallbackBody({ ...input, source: hidden }).toString()) as typeof plain;
  expect(Buffer.from(made.sourceBody, 'base64').toString()).toMatch(/^REDACTED:[0-9a-f]{64}$/);
  expect(made.sourceHeader).toEqual({ Authorization: [expect.stringMatching(/^REDACTED:[0-9a-f]{64}$/)] });
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
