// Destinations in request targets, as the published clients send them.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTarget } from '../../../src/api/raw-target.js';

const destinationOf = (target: string): string | null => {
  const read = readTarget('POST', target);
  return read.kind === 'other' ? null : read.destination;
};

describe('a destination in the target', () => {
  it.each([
    ['/v2/publish/https://a.test/p?x=1&y=a%20b', 'https://a.test/p?x=1&y=a%20b'],
    ['/v2/publish/https://a.test/p', 'https://a.test/p'],
    ['/v2/publish/https://a.test/a%2Fb/%C3%A9', 'https://a.test/a%2Fb/%C3%A9'],
    ['/v2/publish/https://a.test//dbl//slash/', 'https://a.test//dbl//slash/'],
    ['/v2/publish/https://a.test/b', 'https://a.test/b'],
    ['/v2/publish/https://a.test/a/../b/./c', 'https://a.test/a/../b/./c'],
    ['/v2/publish/https://a.test/%zz%', 'https://a.test/%zz%'],
    ['/v2/publish/https://a.test/p?', 'https://a.test/p?'],
    ['/v2/publish/https://a.test?x', 'https://a.test?x'],
    ['/v2/publish/https://a.test/p?url=https://b.test/q?z=1', 'https://a.test/p?url=https://b.test/q?z=1'],
    ['/v2/publish/HTTP://A.test/P', 'HTTP://A.test/P'],
    ['/v2/publish/', ''],
    ['/v2/publish', ''],
    ['/v2/publish?qstash_token=t', ''],
    ['/v2/publish/group', 'group'],
    ['/v2/publish/api/llm', 'api/llm'],
  ])('%s is kept as it is', (target, destination) => {
    expect(destinationOf(target)).toBe(destination);
    expect(readTarget('POST', target).kind).toBe('publish');
  });

  it.each([
    ['/v2/publish/https%3A%2F%2Fa.test%2Fp', 'https://a.test/p'],
    ['/v2/publish/https%3a%2f%2fa.test%2fp%3Fx%3D1%2526', 'https://a.test/p?x=1%26'],
    ['/v2/publish/https:%2F%2Fa.test%2Fp', 'https://a.test/p'],
    ['/v2/publish/https%3A%2F%2Fa.test%2Fp?y=2', 'https://a.test/p?y=2'],
    ['/v2/publish/https%3A%2F%2Fa.test%2Fp%3Fx%3D1?y=2', 'https://a.test/p?x=1&y=2'],
    ['/v2/publish/https%3A%2F%2Fa.test%2F%C3%A9', 'https://a.test/é'],
  ])('%s came encoded as a whole and is decoded once', (target, destination) => {
    expect(destinationOf(target)).toBe(destination);
  });

  it('of which the encoding is broken stays as it is, to be refused with a text', () => {
    expect(destinationOf('/v2/publish/https%3A%2F%2Fa.test%2F%zz')).toBe('https%3A%2F%2Fa.test%2F%zz');
  });

  it('loses our own query keys and nothing else', () => {
    const read = readTarget(
      'POST',
      '/v2/publish/https://a.test/p?a=1&qstash_token=secret&upstash-delay=10s&b=%20+&Upstash-Retries=1&carillon-window=5m&upstash=1&c',
    );
    expect(read).toEqual({
      kind: 'publish',
      destination: 'https://a.test/p?a=1&b=%20+&Upstash-Retries=1&upstash=1&c',
      settings: [
        ['upstash-delay', '10s'],
        ['carillon-window', '5m'],
      ],
      token: 'secret',
    });
  });

  it('has no question mark left when all keys were ours', () => {
    expect(destinationOf('/v2/publish/https://a.test/p?upstash-delay=1s&qstash_token=x')).toBe('https://a.test/p');
  });

  it('gives decoded values of settings', () => {
    const read = readTarget(
      'POST',
      '/v2/publish/https://a.test/?upstash-cron=*%2F5+*+*+*+*&upstash-label=%C3%A9&upstash-delay',
    );
    expect(read).toMatchObject({
      settings: [
        ['upstash-cron', '*/5 * * * *'],
        ['upstash-label', 'é'],
        ['upstash-delay', ''],
      ],
    });
  });
});

describe('other targets', () => {
  it.each([
    ['/v2/enqueue/q%201/%C3%A9/https://a.test/p', 'q 1/é', 'https://a.test/p'],
    ['/v2/enqueue/q/https%3A%2F%2Fa.test', 'q', 'https://a.test'],
    ['/v2/enqueue/q/group', 'q', 'group'],
    ['/v2/enqueue/q', 'q', ''],
  ])('%s names a queue', (target, queue, destination) => {
    expect(readTarget('POST', target)).toMatchObject({ kind: 'enqueue', queue, destination });
  });

  it.each(['/v2/schedules/https://a.test/p?z=1', '/v2/Schedules/https://a.test/p?z=1'])(
    '%s creates a schedule',
    (target) => {
      expect(readTarget('POST', target)).toMatchObject({ kind: 'schedule', destination: 'https://a.test/p?z=1' });
    },
  );

  it('a schedule for a URL that ends in /pause is created, a schedule id before /pause is paused', () => {
    expect(readTarget('POST', '/v2/schedules/https://a.test/pause').kind).toBe('schedule');
    for (const action of ['pause', 'resume', 'trigger']) {
      expect(readTarget('POST', `/v2/schedules/scd_1.a-b/${action}`)).toEqual({
        kind: 'other',
        url: `/v2/schedules/scd_1.a-b/${action}`,
        token: null,
      });
    }
  });

  it.each([
    ['GET', '/v2/schedules/https', '/v2/schedules/https'],
    ['GET', '/v2/Schedules/s1', '/v2/schedules/s1'],
    ['GET', '/v2/publish/https://a.test', '/v2/publish/https://a.test'],
    ['POST', '/v2/publisher/x', '/v2/publisher/x'],
    ['POST', 'http://h:1/v2/batch', '/v2/batch'],
    ['GET', 'http://h:1', '/'],
    ['OPTIONS', '*', '/*'],
    ['GET', '/v2/events?count=1&qstash_token=t&upstash-x=1', '/v2/events?count=1&upstash-x=1'],
    ['GET', '/v2/keys?qstash_token=t', '/v2/keys'],
  ])('%s %s goes to the router as %s', (method, target, url) => {
    expect(readTarget(method, target)).toMatchObject({ kind: 'other', url });
  });

  it('with an absolute target have the same destination', () => {
    expect(destinationOf('http://host:1/v2/publish/https://a.test//p')).toBe('https://a.test//p');
  });

  it('never throw, whatever is sent', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('GET', 'POST', 'PATCH', ''),
        fc.string({ unit: 'binary', maxLength: 200 }),
        (method, text) => {
          for (const prefix of [
            '',
            '/',
            '/v2/publish/',
            '/v2/schedules/',
            '/v2/enqueue/',
            '/v2/publish/https%3A%2F%2F',
            '/v2/x?',
          ]) {
            readTarget(method, prefix + text);
          }
        },
      ),
    );
  });

  it('keep every destination that is a plain URL byte for byte', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), (url) => {
        fc.pre(!/[?&](?:upstash-|carillon-|qstash_token)/.test(url));
        expect(destinationOf(`/v2/publish/${url}`)).toBe(url);
      }),
    );
  });
});
