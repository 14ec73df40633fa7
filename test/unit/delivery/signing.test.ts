// Facts about delivery signatures, judged by the official client's Receiver.
import { Receiver } from '@upstash/qstash';
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { signDelivery, SIGNATURE_VALID_S } from '../../../src/delivery/signing.js';

const CURRENT = 'sig_current_0123456789abcdefghij';
const NEXT = 'sig_next_0123456789abcdefghijklm';
const URL_WITH_QUERY = 'https://a.test/p?x=1&y=a%20b&q="';

const verify = (signature: string, body: string, url?: string): Promise<boolean> =>
  new Receiver({ currentSigningKey: CURRENT, nextSigningKey: NEXT }).verify({
    signature,
    body,
    ...(url === undefined ? {} : { url }),
  });

const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;

it.each([
  ['an empty body', ''],
  ['text', '{"a":1}'],
  ['text with NUL and non-ASCII', 'a\0b – é 💶'],
])('the official Receiver accepts %s, with and without the URL', async (_name, body) => {
  const signature = signDelivery({
    signingKey: CURRENT,
    url: URL_WITH_QUERY,
    body: Buffer.from(body),
    nowMs: Date.now(),
  });
  await expect(verify(signature, body)).resolves.toBe(true);
  await expect(verify(signature, body, URL_WITH_QUERY)).resolves.toBe(true);
});

it('the official Receiver accepts the key that will be current next', async () => {
  const signature = signDelivery({ signingKey: NEXT, url: URL_WITH_QUERY, body: Buffer.from('x'), nowMs: Date.now() });
  await expect(verify(signature, 'x', URL_WITH_QUERY)).resolves.toBe(true);
});

it.each([
  ['another key', { signingKey: 'sig_other' }],
  ['another URL', { url: 'https://a.test/p?x=2' }],
  ['another body', { body: Buffer.from('y') }],
  ['a time out of date', { nowMs: Date.now() - (SIGNATURE_VALID_S + 5) * 1000 }],
])('the official Receiver refuses %s', async (_name, changes) => {
  const signature = signDelivery({
    signingKey: CURRENT,
    url: URL_WITH_QUERY,
    body: Buffer.from('x'),
    nowMs: Date.now(),
    ...changes,
  });
  await expect(verify(signature, 'x', URL_WITH_QUERY)).rejects.toThrow();
});

it('the token has the claims and the form of the hosted service', () => {
  const body = Buffer.from([0, 255, 254, 10]);
  const token = signDelivery({
    signingKey: CURRENT,
    url: 'https://a.test',
    body,
    nowMs: 1_700_000_000_999,
    tokenId: 'abc',
  });
  expect(Buffer.from(token.split('.')[0]!, 'base64url').toString()).toBe('{"alg":"HS256","typ":"JWT"}');
  expect(token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
  expect(claimsOf(token)).toEqual({
    iss: 'Upstash',
    sub: 'https://a.test',
    exp: 1_700_000_300,
    nbf: 0,
    iat: 1_700_000_000,
    jti: 'jwt_abc',
    body: `${createHash('sha256').update(body).digest('base64url')}=`,
  });
});

it('two tokens for the same attempt have different ids', () => {
  const input = { signingKey: CURRENT, url: 'https://a.test', body: Buffer.alloc(0), nowMs: 1 };
  expect(claimsOf(signDelivery(input)).jti).not.toBe(claimsOf(signDelivery(input)).jti);
});
