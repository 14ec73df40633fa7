// Facts about which destinations may be called.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkDestinationUrl, literalAddress, refusalOfAddress } from '../../../src/delivery/destination-guard.js';
import { parseTarget } from '../../../src/delivery/target.js';
import { CarillonError } from '../../../src/domain/errors.js';

describe('addresses', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '172.15.255.255',
    '172.32.0.0',
    '11.0.0.1',
    '192.167.255.255',
    '100.63.255.255',
    '100.128.0.0',
    '169.253.0.1',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001:800::200e',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
  ])('%s is public', (address) => {
    expect(refusalOfAddress(address)).toBeNull();
  });

  it.each([
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['10.0.0.1', 'private'],
    ['10.255.255.255', 'private'],
    ['100.64.0.1', 'NAT'],
    ['100.127.255.255', 'NAT'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.1', 'reserved'],
    ['192.0.2.1', 'reserved'],
    ['192.88.99.1', 'reserved'],
    ['192.168.0.1', 'private'],
    ['198.18.0.1', 'reserved'],
    ['198.19.255.255', 'reserved'],
    ['198.51.100.1', 'reserved'],
    ['203.0.113.1', 'reserved'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['168.63.129.16', 'platform'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['febf::1', 'link-local'],
    ['fc00::1', 'unique-local'],
    ['fd00:ec2::254', 'unique-local'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::ffff:10.0.0.1', 'private'],
    ['::ffff:169.254.169.254', 'link-local'],
    ['0:0:0:0:0:ffff:c0a8:1', 'private'],
    ['::127.0.0.1', 'outside'],
    ['::8.8.8.8', 'outside'],
    ['::ffff:0:127.0.0.1', 'reserved'],
    ['64:ff9b::127.0.0.1', 'loopback'],
    ['64:ff9b::a00:1', 'private'],
    ['64:ff9b:1::8.8.8.8', 'reserved'],
    ['2002:7f00:1::', 'reserved'],
    ['2002:808:808::1', 'reserved'],
    ['2001::1', 'reserved'],
    ['2001:db8::1', 'reserved'],
    ['100::1', 'reserved'],
    ['4000::1', 'outside'],
    ['1::1', 'outside'],
    ['3fff::1', 'reserved'],
    ['5f00::1', 'reserved'],
    ['localhost', 'no IP address'],
    ['', 'no IP address'],
  ])('%s is refused (%s)', (address, reason) => {
    expect(refusalOfAddress(address)).toContain(reason);
  });

  it('no way of writing an IPv4 address inside of IPv6 makes a private one public', () => {
    const octet = fc.nat(255);
    fc.assert(
      fc.property(
        octet,
        octet,
        octet,
        octet,
        fc.constantFrom('::ffff:', '64:ff9b::', '::', '::ffff:0:', '64:ff9b:1::'),
        (a, b, c, d, prefix) => {
          const inner = [a, b, c, d].join('.');
          return refusalOfAddress(`${prefix}${inner}`) !== null || refusalOfAddress(inner) === null;
        },
      ),
      { seed: 20_260_306, numRuns: 2000 },
    );
  });
});

describe('checkDestinationUrl', () => {
  it.each([
    'http://a.test',
    'https://a.test/p?x=1&y=a%20b',
    'HTTPS://A.test/%C3%A9',
    'http://a.test:8080//dbl//',
    'http://[2606:4700::1]:80/x',
    'http://bücher.example/ä',
    'https://a.test/p#frag',
    'http://127.0.0.1:3000/hook',
    'http://web:3000/hook',
  ])('%s is accepted and kept verbatim', (url) => {
    expect(checkDestinationUrl(url, 'destination')).toBe(url);
  });

  it.each([
    'a.test',
    'ftp://a.test',
    '/path',
    '',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'httpx://a',
    'http:/a.test',
    'http:a.test',
    'my-group',
  ])('%s is refused with the text that clients know', (url) => {
    expect(() => checkDestinationUrl(url, 'destination')).toThrow(
      new CarillonError(
        'INVALID_DESTINATION',
        'invalid destination url: endpoint has invalid scheme, add http:// or https://',
      ),
    );
  });

  it.each([
    ['http://', 'not an absolute URL'],
    ['http://a.test:99999', 'not an absolute URL'],
    ['http://[::1', 'not an absolute URL'],
    ['http://1.2.3.4.5', 'not an absolute URL'],
    ['http://user:pass@a.test/', 'credentials'],
    ['http://user@a.test/', 'credentials'],
    ['http://a.test/a b', 'percent-encoded'],
    ['http://a.test/\r\nX: 1', 'percent-encoded'],
    ['http://a.test/\0', 'percent-encoded'],
    [`http://a.test/${'x'.repeat(5000)}`, 'at most 4096'],
  ])('%s is refused: %s', (url, text) => {
    expect(() => checkDestinationUrl(url, 'callback')).toThrow(/^invalid callback url: /);
    expect(() => checkDestinationUrl(url, 'callback')).toThrow(text);
  });

  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://127.0.0.1./',
    'http://%31%32%37.0.0.1/',
    'http://①②⑦.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[0:0:0:0:0:ffff:7f00:1]/',
  ])('%s names a loopback address, which is told at once where private ones are not allowed', (url) => {
    expect(() => checkDestinationUrl(url, 'destination', { allowPrivate: false })).toThrow(
      /invalid destination url: endpoint resolves to a loopback address: /,
    );
    expect(checkDestinationUrl(url, 'destination', { allowPrivate: true })).toBe(url);
  });

  // Issue 11, B4: URL parsers take what follows for the host, or drop what they do not like.
  it.each([
    'http:///h/x',
    'http:////h',
    'https://///h/x',
    'HTTP:///h',
    'http:///',
    'http://?x',
    'http://#h',
    'http:///@h/',
    'http://:80/',
    'http://:80',
    'http://./',
    'http://../h',
    'http://。/h',
  ])('%s has an empty host and is refused', (url) => {
    for (const allowPrivate of [true, false]) {
      expect(() => checkDestinationUrl(url, 'destination', { allowPrivate })).toThrow(
        'invalid destination url: the host is empty: endpoint is not an absolute URL',
      );
    }
  });

  it.each([
    ['http:/h/x', 'scheme'],
    ['http:h', 'scheme'],
    ['http:\\\\h\\x', 'scheme'],
    ['http:/\\h', 'scheme'],
    ['http//h', 'scheme'],
    ['//h/x', 'scheme'],
    [' http://h/', 'scheme'],
    ['\u00a0http://h/', 'scheme'],
    ['http://\\h/', 'backslash'],
    ['http://h\\x', 'backslash'],
    ['http://h/a\\b', 'backslash'],
    ['http://a.test\\@b.test/', 'backslash'],
    ['http://@/x', 'credentials'],
    ['http://@h/x', 'credentials'],
    ['http://:@h/x', 'credentials'],
    ['http://a.test:80@b.test/', 'credentials'],
    ['http://h:/x', 'port is empty'],
    ['http://%20/', 'not an absolute URL'],
    ['http://%00/', 'not an absolute URL'],
    ['http://%2fh/', 'not an absolute URL'],
    ['http://%40h/', 'not an absolute URL'],
    ['http://[]/', 'not an absolute URL'],
    ['http://\u00a0/', 'not an absolute URL'],
    ['http://\u00adh/', 'invisible'],
    ['http://\ufeffh/', 'invisible'],
    ['http://h\u200b.test/', 'invisible'],
    ['http://h/ ', 'percent-encoded'],
    ['http://\th/', 'percent-encoded'],
    ['http:/\n/h/', 'scheme'],
    ['http://h\n/x', 'percent-encoded'],
  ])('%j would be repaired by URL parsers and is refused: %s', (url, why) => {
    expect(() => checkDestinationUrl(url, 'destination')).toThrow(why);
    expect(() => checkDestinationUrl(url, 'destination')).toThrow(CarillonError);
  });

  it('whatever slashes, backslashes and marks come before a host, it is called as written or not at all', () => {
    const start = fc.string({
      unit: fc.constantFrom('/', '\\', '@', ':', '.', '?', '#', '%', ' ', '\t'),
      maxLength: 5,
    });
    fc.assert(
      fc.property(fc.constantFrom('http:', 'https:'), start, fc.constantFrom('', '/', ':80/'), (scheme, marks, end) => {
        const text = `${scheme}${marks}h${end}`;
        try {
          checkDestinationUrl(text, 'destination');
        } catch (error) {
          return error instanceof CarillonError;
        }
        return new URL(text).hostname === /^https?:\/\/([^/?#:]+)/.exec(text)?.[1];
      }),
      { seed: 20_260_910, numRuns: 5_000 },
    );
  });

  it('a backslash in the query is no slash to anybody', () => {
    expect(checkDestinationUrl('http://a.test/?x=a\\b', 'destination')).toBe('http://a.test/?x=a\\b');
    expect(checkDestinationUrl('http://a.test/?mail=a@b.test', 'destination')).toBe('http://a.test/?mail=a@b.test');
  });

  // Issue 11, B5: URL.canParse of Node.js 20 says no to these once it is optimised.
  it('a host with Latin-1 letters is accepted and taken apart, however often it is asked', () => {
    for (let turn = 0; turn < 100_000; turn++) {
      const url = turn % 2 === 0 ? `http://münchen.test/${turn % 600}` : `http://café.test/${turn % 600}`;
      checkDestinationUrl(url, 'destination');
      if (parseTarget(url)?.host !== (turn % 2 === 0 ? 'xn--mnchen-3ya.test' : 'xn--caf-dma.test')) {
        throw new Error(`${url} was refused at turn ${turn}`);
      }
    }
  });

  it('names are not resolved: a name that leads to a private address is accepted', () => {
    expect(checkDestinationUrl('http://localhost/', 'destination', { allowPrivate: false })).toBe('http://localhost/');
  });

  it('every text is either kept as it is or refused with a CarillonError', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
          fc.string({ unit: 'binary' }).map((rest) => `http://${rest}`),
        ),
        (text) => {
          try {
            return checkDestinationUrl(text, 'destination', { allowPrivate: false }) === text;
          } catch (error) {
            return error instanceof CarillonError && error.code === 'INVALID_DESTINATION';
          }
        },
      ),
      { seed: 20_260_307, numRuns: 1000 },
    );
  });
});

it('a literal address is found in a URL host, with or without brackets', () => {
  expect(literalAddress('[::1]')).toBe('::1');
  expect(literalAddress('10.0.0.1')).toBe('10.0.0.1');
  expect(literalAddress('a.test')).toBeNull();
});
