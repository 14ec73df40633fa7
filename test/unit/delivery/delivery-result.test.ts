// Issue 11, A9: what a tenant reads of a failed connection has no address that is not in its own URL.

import { describe, expect, it } from 'vitest';
import { describeFailure } from '../../../src/delivery/delivery-result.js';

const failure = (message: string, code: string): Error => Object.assign(new Error(message), { code });
const textOf = (error: unknown, host = 'inside.test'): string => describeFailure(error, 1, host).message;

describe('the text of a failed connection', () => {
  it.each([
    ['connect ECONNREFUSED 10.0.0.5:80', 'connect ECONNREFUSED inside.test:80'],
    ['connect ECONNREFUSED fd00::1:5:8080', 'connect ECONNREFUSED inside.test'],
    ['connect EHOSTUNREACH fe80::1%eth0:80', 'connect EHOSTUNREACH inside.test'],
    ['connect ENETUNREACH ::ffff:10.0.0.5:443', 'connect ENETUNREACH inside.test:443'],
    ['connect EADDRNOTAVAIL 10.0.0.5:80 - Local (172.17.0.2:51234)', 'connect EADDRNOTAVAIL inside.test:80'],
    [
      'Connect Timeout Error (attempted addresses: 10.0.0.5:80, [fd00::2]:80, timeout: 5000ms)',
      'Connect Timeout Error (attempted addresses: inside.test:80, inside.test:80, timeout: 5000ms)',
    ],
    ['read ECONNRESET from 10.0.0.5.', 'read ECONNRESET from inside.test.'],
    ['getaddrinfo ENOTFOUND inside.test', 'getaddrinfo ENOTFOUND inside.test'],
    ['Parse Error: 1.2.3 at 12:30:05 of cafe: x', 'Parse Error: 1.2.3 at 12:30:05 of cafe: x'],
  ])('%s', (message, expected) => {
    expect(textOf(failure(message, 'OTHER'))).toBe(expected);
  });

  it('is told once for addresses that failed alike', () => {
    const errors = ['10.0.0.5:80', '10.0.0.6:80', '::1:80'].map((to) => failure(`connect ECONNREFUSED ${to}`, 'E'));
    expect(textOf(new AggregateError(errors))).toMatch(
      /^connect ECONNREFUSED inside\.test:80(; connect ECONNREFUSED inside\.test)?$/,
    );
  });

  it('keeps an address that the URL has, in its words', () => {
    expect(textOf(failure('connect ECONNREFUSED 8.8.8.8:80', 'E'), '8.8.8.8')).toBe('connect ECONNREFUSED 8.8.8.8:80');
    expect(textOf(failure('connect ECONNREFUSED ::1:80', 'E'), '[::1]')).toMatch(/^connect ECONNREFUSED \[::1\]/);
  });
});
