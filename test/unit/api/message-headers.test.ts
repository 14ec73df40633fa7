// What a message is made of: settings in headers, query keys and batch items, and what is wrong with them.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSubmission } from '../../../src/api/message-headers.js';
import {
  headerLimits,
  settingsOfHttp,
  settingsOfObject,
  type RequestSettings,
} from '../../../src/api/request-settings.js';
import { configWith, type Config } from '../../../src/config.js';
import { CarillonError } from '../../../src/domain/errors.js';
import { messageIdTimeMs } from '../../../src/domain/ids.js';
import type { Submission } from '../../../src/intake/intake.js';

const NOW_MS = 1_772_000_000_123;
const config = configWith({ CARILLON_ALLOW_PRIVATE_DESTINATIONS: true });
const random = (bytes: number): Uint8Array => Buffer.alloc(bytes, 0xa5);
const MAX = headerLimits(config);

const http = (headers: Record<string, string>, query: [string, string][] = []): RequestSettings =>
  settingsOfHttp({ rawHeaders: Object.entries(headers).flat(), query, authorizationIsOurs: true }, MAX);

function submit(
  settings: RequestSettings | Record<string, string>,
  body: string | Buffer = '',
  settingsOfNode: Config = config,
): Submission {
  const read =
    settings.values instanceof Map ? (settings as RequestSettings) : http(settings as Record<string, string>);
  return readSubmission(
    { tenantId: 7, destination: 'https://a.test/p', settings: read, body: Buffer.from(body), callerIp: '10.0.0.1' },
    { config: settingsOfNode, clock: { nowMs: () => NOW_MS + 0.75 }, random },
  );
}

function refusal(work: () => unknown): { code: string; text: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof CarillonError) return { code: error.code, text: error.message };
    throw error;
  }
  throw new Error('it was accepted');
}

describe('a message', () => {
  it('without settings has the defaults and is due now', () => {
    const { message, keys } = submit({});
    expect(message).toMatchObject({
      tenantId: 7,
      kind: 'message',
      method: 'POST',
      headers: {},
      maxRetries: 3,
      timeoutMs: 30_000,
      retryDelay: null,
      callback: null,
      failureCallback: null,
      labels: [],
      redact: null,
      callerIp: '10.0.0.1',
      idempotencyKey: null,
      dueAtMs: NOW_MS,
      createdAtMs: NOW_MS,
    });
    expect(messageIdTimeMs(message.id)).toBe(NOW_MS);
    expect(keys).toEqual([]);
  });

  it('takes method, retries, timeout, labels and callbacks from its headers', () => {
    const { message } = submit({
      'Upstash-Method': 'put',
      'Upstash-Retries': '0',
      'Upstash-Retry-Delay': 'pow(2, retried) * 1000',
      'Upstash-Timeout': '1.5s',
      'Upstash-Label': ' a, b ,,a',
      'Upstash-Redact-Fields': 'body,header[X-A]',
      'Upstash-Callback': 'https://cb.test/x',
      'Upstash-Callback-Method': 'PUT',
      'Upstash-Callback-Retries': '1',
      'Upstash-Callback-Timeout': '5',
      'Upstash-Callback-Delay': '10s',
      'Upstash-Callback-Retry-Delay': '1000',
      'Upstash-Callback-Forward-X-Secret': 's',
      'Upstash-Failure-Callback': 'https://cb.test/f',
      'Upstash-Failure-Callback-Forward-x-other': 'o',
    });
    expect(message).toMatchObject({
      method: 'PUT',
      maxRetries: 0,
      retryDelay: 'pow(2, retried) * 1000',
      timeoutMs: 1_500,
      labels: ['a', 'b'],
      redact: 'body,header[X-A]',
      callback: {
        url: 'https://cb.test/x',
        method: 'PUT',
        retries: 1,
        timeoutMs: 5_000,
        delayMs: 10_000,
        retryDelay: '1000',
        headers: { 'X-Secret': ['s'] },
      },
      failureCallback: { url: 'https://cb.test/f', method: null, retries: null, headers: { 'X-Other': ['o'] } },
    });
  });

  it('reads a bare timeout as seconds, and a longer one than allowed as the longest', () => {
    expect(submit({ 'Upstash-Timeout': '30' }).message.timeoutMs).toBe(30_000);
    expect(submit({ 'Upstash-Timeout': '2h' }).message.timeoutMs).toBe(config.CARILLON_TIMEOUT_MAX_MS);
  });

  it('is due after its delay, or at its not-before, which wins', () => {
    expect(submit({ 'Upstash-Delay': '1d10h30m' }).message.dueAtMs).toBe(NOW_MS + 124_200_000);
    const atSeconds = Math.floor(NOW_MS / 1000) + 60;
    const both = submit({ 'Upstash-Delay': '1d', 'Upstash-Not-Before': String(atSeconds) }).message;
    expect(both.dueAtMs).toBe(atSeconds * 1_000);
    expect(messageIdTimeMs(both.id)).toBe(atSeconds * 1_000);
  });

  it('whose not-before has passed is due now', () => {
    expect(submit({ 'Upstash-Not-Before': '1' }).message.dueAtMs).toBe(NOW_MS);
  });

  it('treats blank settings as not given', () => {
    expect(submit({ 'Upstash-Delay': '', 'Upstash-Label': ' ', 'Upstash-Callback': '' }).message).toMatchObject({
      dueAtMs: NOW_MS,
      labels: [],
      callback: null,
    });
  });
});

describe('forwarded headers', () => {
  it('have canonical names and lists of values; Content-Type goes along', () => {
    const settings = settingsOfHttp(
      {
        rawHeaders: ['upstash-forward-test-header', 'a', 'UPSTASH-FORWARD-TEST-HEADER', 'b', 'content-type', 'text/x'],
        query: [],
        authorizationIsOurs: true,
      },
      MAX,
    );
    expect(settings.forwarded).toEqual({ 'Test-Header': ['a', 'b'], 'Content-Type': ['text/x'] });
  });

  it('leave out telemetry, unknown Upstash settings and what belongs to the connection', () => {
    const { message } = submit({
      host: 'carillon.test',
      'user-agent': 'x',
      authorization: 'Bearer t',
      'Upstash-Telemetry-Sdk': 'upstash-qstash-js@2.12.0',
      'Upstash-Workflow-Init': 'true',
      'Upstash-Forward-Content-Length': '3',
      'Upstash-Forward-Connection': 'close',
      'Upstash-Forward-Host': 'evil.test',
    });
    expect(message.headers).toEqual({});
  });

  it('in webhook mode are all that came, but for our token', () => {
    const headers = {
      host: 'carillon.test',
      authorization: 'Bearer t',
      'x-github-event': 'push',
      'content-type': 'application/json',
      'Upstash-Header-Forward': 'true',
      connection: 'keep-alive',
    };
    expect(submit(headers).message.headers).toEqual({
      'X-Github-Event': ['push'],
      'Content-Type': ['application/json'],
    });
    const withQueryToken = settingsOfHttp(
      { rawHeaders: Object.entries(headers).flat(), query: [], authorizationIsOurs: false },
      MAX,
    );
    expect(withQueryToken.forwarded.Authorization).toEqual(['Bearer t']);
  });

  it('named like a property of every object are headers like others', () => {
    const { message } = submit({ 'Upstash-Forward-Constructor': 'a', 'Upstash-Forward-Has-Own': 'b' });
    expect(message.headers).toEqual({ Constructor: ['a'], 'Has-Own': ['b'] });
  });

  it('that hold a Carillon setting are that setting: clients prefix all headers', () => {
    const { message, keys } = submit({ 'upstash-forward-carillon-idempotency-key': 'invoice-1' });
    expect(message.idempotencyKey).toBe('invoice-1');
    expect(message.headers).toEqual({});
    expect(keys).toEqual([{ scope: 'key', key: 'invoice-1' }]);
  });

  it('go out as the bytes that came in, and text from JSON as UTF-8', () => {
    const bytes = Buffer.from('é', 'utf8').toString('latin1');
    expect(submit({ 'Upstash-Forward-X': bytes }).message.headers).toEqual({ X: [bytes] });
    expect(submit(settingsOfObject({ 'upstash-forward-x': 'é' }, MAX)).message.headers).toEqual({ X: [bytes] });
    expect(submit({ 'Upstash-Label': bytes }).message.labels).toEqual(['é']);
    expect(submit({ 'Upstash-Label': '\u00e9' }).message.labels).toEqual(['é']);
  });

  it('are limited in their sum', () => {
    const text = 'x'.repeat(MAX.maxBytes);
    expect(refusal(() => http({ 'Upstash-Forward-A': text })).code).toBe('LIMIT_EXCEEDED');
    expect(refusal(() => http({ 'Upstash-Callback-Forward-A': text })).code).toBe('LIMIT_EXCEEDED');
  });
});

describe('query keys', () => {
  it('are settings; a header wins', () => {
    const settings = http({ 'Upstash-Delay': '1m' }, [
      ['upstash-delay', '1h'],
      ['upstash-retries', '7'],
      ['upstash-forward-x-q', 'é'],
    ]);
    expect(submit(settings).message).toMatchObject({
      maxRetries: 7,
      dueAtMs: NOW_MS + 60_000,
      headers: { 'X-Q': ['Ã©'] },
    });
  });
});

describe('batch items', () => {
  it('take numbers, booleans and lists for strings', () => {
    const settings = settingsOfObject(
      { 'upstash-retries': 2, 'upstash-forward-a': ['1', '2'], 'upstash-delay': null },
      MAX,
    );
    expect(submit(settings).message).toMatchObject({ maxRetries: 2, headers: { A: ['1', '2'] }, dueAtMs: NOW_MS });
  });

  it.each([
    [{ 'upstash-forward-a': 'x\r\nEvil: 1' }],
    [{ 'upstash-forward-a': 'x\0' }],
    [{ 'upstash-label': 'x\n' }],
    [{ 'upstash-forward-a': '\ud800' }],
    [{ 'upstash-forward-a b': 'x' }],
    [{ 'upstash-forward-': 'x' }],
    [{ 'upstash-forward-a': {} }],
    [['upstash-delay', '1s']],
    ['upstash-delay: 1s'],
  ])('cannot smuggle what no header can carry: %j', (headers) => {
    expect(refusal(() => settingsOfObject(headers, MAX)).code).toBe('INVALID_REQUEST');
  });
});

describe('keys', () => {
  it('are the deduplication id, or the hash of the content when it is asked for', () => {
    expect(submit({ 'Upstash-Deduplication-Id': 'abc' }).keys).toEqual([{ scope: 'deduplication', key: 'abc' }]);
    const [claim] = submit({ 'Upstash-Content-Based-Deduplication': 'True' }, 'x').keys;
    expect(claim).toMatchObject({ scope: 'content' });
    expect(submit({ 'Upstash-Content-Based-Deduplication': 'true', 'Upstash-Deduplication-Id': 'abc' }).keys).toEqual([
      { scope: 'deduplication', key: 'abc' },
    ]);
  });

  it('by content follow destination, body, Content-Type and forwarded headers, and nothing else', () => {
    const key = (headers: Record<string, string>, body = 'x'): string =>
      submit({ 'Upstash-Content-Based-Deduplication': 'true', ...headers }, body).keys[0]?.key ?? '';
    const plain = key({});
    expect(key({ 'Upstash-Telemetry-Runtime': 'node@v20', 'Upstash-Delay': '1m', 'user-agent': 'u' })).toBe(plain);
    expect(key({ 'Upstash-Forward-A': '1', 'Upstash-Forward-B': '2' })).toBe(
      key({ 'Upstash-Forward-B': '2', 'Upstash-Forward-A': '1' }),
    );
    const others = [key({}, 'y'), key({ 'Content-Type': 'a/b' }), key({ 'Upstash-Forward-A': '1' })];
    expect(new Set([plain, ...others]).size).toBe(4);
  });
});

describe('what is wrong is said', () => {
  it.each([
    [{ 'Upstash-Deduplication-Id': 'a:b' }, 'INVALID_REQUEST', /^DeduplicationId cannot contain ':'$/],
    [{ 'Upstash-Deduplication-Id': 'x'.repeat(1_025) }, 'LIMIT_EXCEEDED', /1024/],
    [{ 'Upstash-Retries': '101' }, 'LIMIT_EXCEEDED', /quota maxRetries exceeded.*100/],
    [{ 'Upstash-Retries': '-1' }, 'INVALID_REQUEST', /Upstash-Retries.*whole number/],
    [{ 'Upstash-Retries': '1.5' }, 'INVALID_REQUEST', /Upstash-Retries/],
    [{ 'Upstash-Callback': 'https://c.test', 'Upstash-Callback-Retries': 'x' }, 'INVALID_REQUEST', /Callback-Retries/],
    [{ 'Upstash-Delay': '10' }, 'INVALID_REQUEST', /Upstash-Delay.*unit/],
    [{ 'Upstash-Delay': '401d' }, 'LIMIT_EXCEEDED', /400 days/],
    [{ 'Upstash-Not-Before': 'tomorrow' }, 'INVALID_REQUEST', /seconds/],
    [{ 'Upstash-Not-Before': String(NOW_MS + 60_000) }, 'LIMIT_EXCEEDED', /seconds, not milliseconds/],
    [{ 'Upstash-Method': 'TRACE' }, 'INVALID_REQUEST', /GET, POST/],
    [{ 'Upstash-Timeout': '0' }, 'INVALID_REQUEST', /Upstash-Timeout/],
    [{ 'Upstash-Retry-Delay': 'boom(' }, 'INVALID_REQUEST', /Upstash-Retry-Delay/],
    [{ 'Upstash-Callback': 'ftp://x' }, 'INVALID_DESTINATION', /invalid callback url.*scheme/],
    [{ 'Upstash-Failure-Callback': 'http://' }, 'INVALID_DESTINATION', /invalid failure callback url/],
    [{ 'Upstash-Redact-Fields': 'bodi' }, 'INVALID_REQUEST', /bodi/],
    [{ 'Upstash-Content-Based-Deduplication': 'yes' }, 'INVALID_REQUEST', /true or false/],
    [{ 'Upstash-Label': Array.from({ length: 17 }, (_, n) => `l${n}`).join(',') }, 'LIMIT_EXCEEDED', /16/],
    [{ 'Upstash-Label': 'x'.repeat(257) }, 'LIMIT_EXCEEDED', /256/],
    [{ 'Carillon-Idempotency-Key': 'x'.repeat(513) }, 'LIMIT_EXCEEDED', /512/],
    [{ 'Carillon-Idempotencykey': 'x' }, 'INVALID_REQUEST', /did you mean Carillon-Idempotency-Key/],
    [{ 'Upstash-Forward-Carillon-Windou': 'x' }, 'INVALID_REQUEST', /did you mean Carillon-Window/],
    [{ 'Carillon-Misfire': 'skip' }, 'INVALID_REQUEST', /schedules only/],
    [{ 'Upstash-Flow-Control-Key': 'k', 'Upstash-Flow-Control-Value': 'rate=1' }, 'NOT_IMPLEMENTED', /flow control/],
    [{ 'Upstash-Queue-Name': 'q' }, 'NOT_IMPLEMENTED', /queues/],
  ])('%j', (headers, code, text) => {
    const refused = refusal(() => submit(headers));
    expect(refused.code).toBe(code);
    expect(refused.text).toMatch(text);
  });

  it('a body beyond the limit', () => {
    const small = configWith({ CARILLON_BODY_MAX_BYTES: 1_024 });
    expect(submit({}, Buffer.alloc(1_024), small).message.body.length).toBe(1_024);
    expect(refusal(() => submit({}, Buffer.alloc(1_025), small))).toEqual({
      code: 'PAYLOAD_TOO_LARGE',
      text: 'the body has 1025 bytes, at most 1024 bytes are allowed',
    });
  });

  it('and nothing else ever happens, whatever the values are', () => {
    const names = [
      ...['Method', 'Delay', 'Not-Before', 'Retries', 'Retry-Delay', 'Timeout', 'Callback', 'Callback-Method', 'Label'],
      ...[
        'Callback-Delay',
        'Failure-Callback',
        'Deduplication-Id',
        'Content-Based-Deduplication',
        'Redact-Fields',
        'Cron',
      ],
      ...['Header-Forward', 'Forward-X', 'Forward-', 'Schedule-Id'],
    ].map((name) => `Upstash-${name}`);
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(...names, 'Carillon-Idempotency-Key', 'Content-Type'),
          fc.string({ unit: 'binary' }),
        ),
        fc.boolean(),
        (headers, asObject) => {
          try {
            submit(asObject ? settingsOfObject(headers, MAX) : http(headers));
          } catch (error) {
            expect(error).toBeInstanceOf(CarillonError);
          }
        },
      ),
    );
  });

  it('ids differ by chance, not by content', () => {
    const hash = createHash('sha256').update('x').digest();
    const one = readSubmission(
      { tenantId: 1, destination: 'https://a.test', settings: http({}), body: Buffer.alloc(0), callerIp: null },
      { config, clock: { nowMs: () => NOW_MS }, random: () => hash },
    );
    expect(one.message.id).not.toBe(submit({}).message.id);
    expect(one.message.shard).toBeLessThan(config.CARILLON_SHARDS);
  });
});
