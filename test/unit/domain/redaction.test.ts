// Facts about Upstash-Redact-Fields: what is read, what is hidden, what is refused.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  mergeRedactFields,
  NO_REDACTION,
  parseRedaction,
  redactBody,
  redactHeaders,
} from '../../../src/domain/redaction.js';

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('parseRedaction', () => {
  it.each([
    ['body', { body: true, allHeaders: false, headers: [] }],
    ['header', { body: false, allHeaders: true, headers: [] }],
    ['headers', { body: false, allHeaders: true, headers: [] }],
    ['body,header[X-A]', { body: true, allHeaders: false, headers: ['x-a'] }],
    [
      ' body , header[Authorization], headers[X-B] ,',
      { body: true, allHeaders: false, headers: ['authorization', 'x-b'] },
    ],
    [
      'header[Upstash-Forward-X],header[upstash-failure-callback-forward-Y]',
      {
        body: false,
        allHeaders: false,
        headers: ['upstash-forward-x', 'x', 'upstash-failure-callback-forward-y', 'y'],
      },
    ],
    ['header[Upstash-Forward-]', { body: false, allHeaders: false, headers: ['upstash-forward-'] }],
    ['', NO_REDACTION],
  ])('%s', (text, expected) => {
    expect(parseRedaction(text)).toEqual(expected);
  });

  it.each(['bodyy', 'header[', 'header[]', 'header[a b]', 'header[X]]', 'url'])(
    'refuses %s rather than show it',
    (text) => {
      expect(() => parseRedaction(text)).toThrow(/Upstash-Redact-Fields: unknown field/);
    },
  );
});

describe('mergeRedactFields (issue 11, A6)', () => {
  it.each([
    [null, null, null],
    ['body', null, 'body'],
    [null, 'header', 'header'],
    ['body, header[X-A]', 'header[X-A],header', 'body,header[X-A],header'],
  ])('of %s and %s is %s', (stored, given, expected) => {
    expect(mergeRedactFields(stored, given)).toBe(expected);
  });

  it('refuses more than can be read again', () => {
    const many = (prefix: string): string => Array.from({ length: 60 }, (_, i) => `header[${prefix}-${i}]`).join();
    expect(() => mergeRedactFields(many('X'), many('Y'))).toThrow(/120 fields, at most 100/);
  });
});

describe('redaction', () => {
  it('shows the hash of the exact bytes of a body', () => {
    const body = Uint8Array.from([0, 255, 128, 65]);
    expect(redactBody(parseRedaction('body'), body)).toBe(`REDACTED:${sha256(body)}`);
    expect(redactBody(parseRedaction('header'), body)).toBeNull();
  });

  it('shows hashes of the named headers only, whatever their case', () => {
    const headers = { Authorization: ['Bearer x'], 'X-A': ['1', '2'], 'Content-Type': ['text/plain'] };
    expect(redactHeaders(parseRedaction('header[authorization],header[x-a]'), headers)).toEqual({
      Authorization: [`REDACTED:${sha256('Bearer x')}`],
      'X-A': [`REDACTED:${sha256('1')}`, `REDACTED:${sha256('2')}`],
      'Content-Type': ['text/plain'],
    });
    expect(headers.Authorization).toEqual(['Bearer x']);
  });

  it('hides all headers when asked to, and none otherwise', () => {
    const headers = { 'X-A': ['é'] };
    expect(redactHeaders(parseRedaction('headers'), headers)).toEqual({
      'X-A': [`REDACTED:${sha256(Buffer.from([0xe9]))}`],
    });
    expect(redactHeaders(NO_REDACTION, headers)).toBe(headers);
  });
});
