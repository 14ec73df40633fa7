// Damages how a request is written: its target, its headers, its framing, its bytes.

import type { SeededRandom } from '../kit/seeded-random.js';
import type { WireRequest } from './wire.js';

type WireMutation = (request: WireRequest, random: SeededRandom) => void;

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'get', 'X'];
const TARGET_PARTS = [
  ...[
    '%00',
    '%0a',
    '%c0%af',
    '%c0%80',
    '%ed%a0%80',
    '%f4%90%80%80',
    '%',
    '%zz',
    '%u0041',
    '%e2%80%ae',
    '%2f',
    '%5c',
    '%2e%2e',
  ],
  ...[
    '%252e',
    '%25%32%66',
    '/',
    '//',
    '/./',
    '/../',
    '/..;/',
    '\\',
    ';a=b',
    '#x',
    '?',
    '??',
    '&',
    '&&',
    '=',
    '+',
    '%3f',
    '%23',
  ],
  ...['\x80', '\xff', '\xc3\xa9', '"', '<', '{', '|', '^', '`', '~', '*', ':', '@', ',', "'", '%7F', '%20', '.json'],
];
const VALUES = [
  '\x80',
  '\xff\xfe',
  '\xed\xa0\x80',
  '\t',
  'a\tb',
  '\x7f',
  '\x01',
  'a, b',
  '"',
  '',
  ' ',
  '\xc3\xa9',
  '%00',
];
const HEADERS = [
  ...[
    'Host',
    'Content-Type',
    'Accept',
    'Carillon-Tenant',
    'X-Forwarded-For',
    'Accept-Encoding',
    'If-None-Match',
    'Range',
  ],
  ...['Origin', 'Cookie', 'TE', 'Trailer', 'Upgrade-Insecure-Requests', 'X-HTTP-Method-Override', 'Forwarded', 'Via'],
  ...['Upstash-Label', 'Upstash-Forward-X', 'Upstash-Deduplication-Id', 'Content-Encoding', 'Accept-Version', 'Date'],
];
const LENGTHS = ['0', '1', '-1', '+1', '1, 1', '99999999999999999999', '0x10', '', 'a', '1.0', '1000000000'];
const AUTHORIZATIONS = [
  '',
  'Bearer',
  'Bearer ',
  'Basic dGVzdDp0ZXN0',
  'Bearer a b',
  'Bearer \xff',
  `Bearer ${'x'.repeat(5_000)}`,
  'x',
];

function insertIntoTarget(request: WireRequest, random: SeededRandom, text: string): void {
  const at = random.between(0, request.target.length);
  request.target = request.target.slice(0, at) + text + request.target.slice(at);
}

function encodeSome(text: string, random: SeededRandom, share: number): string {
  return text.replace(/[^/?&=]/g, (byte) =>
    random.happens(share) ? `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}` : byte,
  );
}

/** Addresses stay as they are: nothing here may call hosts that are not ours. */
function isWithinAddress(bytes: Buffer, at: number): boolean {
  const around = bytes.subarray(Math.max(0, at - 40), at + 40).toString('latin1');
  return /127\.0\.0\.1|\.invalid|https?:/i.test(around);
}

function damaged(change: (bytes: Buffer, random: SeededRandom) => Buffer): WireMutation {
  return (request, random) => {
    request.isBroken = true;
    request.damage = (bytes) => change(bytes, random);
  };
}

export const WIRE_MUTATIONS: Readonly<Record<string, WireMutation>> = {
  'another method': (request, random) => void (request.method = random.pick(METHODS)),
  'odd target': (request, random) => insertIntoTarget(request, random, random.pick(TARGET_PARTS)),
  'percent-encoded': (request, random) => {
    request.target = encodeSome(request.target, random, random.pick([0.02, 0.2, 1]));
  },
  'encoded twice': (request, random) => {
    request.target = encodeSome(request.target, random, 0.3).replaceAll('%', '%25');
  },
  'absolute target': (request, random) => {
    request.target =
      random.pick(['http://127.0.0.1', 'http://a.invalid:1', 'HTTPS://x', 'http://', 'ws://x']) + request.target;
  },
  'fragment or strange form': (request, random) => {
    request.target = random.pick([
      `${request.target}#x`,
      '*',
      '/',
      '//',
      '',
      request.target.slice(1),
      `/.${request.target}`,
    ]);
  },
  'another case': (request, random) => {
    request.target = random.happens(0.5) ? request.target.toUpperCase() : request.target.replace('/v2/', '/V2/');
  },
  'slash at the end': (request) => void (request.target = request.target.replace(/(?=\?|$)/, '/')),
  'long target': (request, random) => {
    insertIntoTarget(
      request,
      random,
      random.pick(['a', '/a', '%20']).repeat(random.pick([1_023, 1_025, 4_096, 30_000])),
    );
  },
  'odd header': (request, random) => request.headers.push([random.pick(HEADERS), random.pick(VALUES)]),
  'header twice': (request, random) => {
    const [name, value] = random.pick(request.headers);
    if (name === 'Authorization') request.caller = 'unclear';
    request.headers.push([name, random.happens(0.5) ? value : random.pick(VALUES)]);
  },
  'many headers': (request, random) => {
    const count = random.pick([50, 900, 2_500]);
    for (let index = 0; index < count; index++) request.headers.push([`Upstash-Forward-H${index}`, 'v']);
  },
  'long header': (request, random) => {
    const length = random.pick([4_096, 8_192, 16_384, 16_385, 40_000, 70_000]);
    request.headers.push([random.pick(HEADERS), 'v'.repeat(length)]);
  },
  'odd token': (request, random) => {
    const others = request.headers.filter(([name]) => name !== 'Authorization');
    request.headers.splice(0, Infinity, ...others);
    request.caller = 'nobody';
    request.headers.push(['Authorization', random.pick(AUTHORIZATIONS)]);
  },
  'odd token in the query': (request, random) => {
    request.caller = 'unclear';
    request.target += `${request.target.includes('?') ? '&' : '?'}qstash_token=${random.pick(['', 'x', '%00', '%', 'a+b'])}`;
  },
  chunked: (request) => {
    request.body ??= Buffer.from('{}');
    request.isChunked = true;
  },
  'expects to continue': (request, random) => {
    request.headers.push(['Expect', random.pick(['100-continue', '100-Continue', 'nonsense'])]);
  },
  'version and connection': (request, random) => {
    if (random.happens(0.5))
      request.version = random.pick(['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', '']);
    request.headers.push(['Connection', random.pick(['close', 'keep-alive', 'upgrade', 'close, x', 'authorization'])]);
    request.isBroken = true;
  },
  'asks for another protocol': (request, random) => {
    request.headers.push(['Connection', 'Upgrade'], ['Upgrade', random.pick(['websocket', 'h2c', 'x'])]);
    if (random.happens(0.5))
      request.headers.push(['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='], ['Sec-WebSocket-Version', '13']);
    request.isBroken = true;
  },
  'wrong length': (request, random) => {
    request.headers.push(['Content-Length', random.pick(LENGTHS)]);
    request.isBroken = true;
  },
  'length and chunks': (request) => {
    request.body ??= Buffer.from('{}');
    request.headers.push(['Content-Length', String(request.body.length)]);
    request.isChunked = true;
    request.isBroken = true;
  },
  'broken bytes': damaged((bytes, random) => {
    const result = Buffer.from(bytes);
    for (let count = random.between(1, 6); count > 0; count--) {
      const at = random.between(0, result.length - 1);
      if (!isWithinAddress(result, at)) result[at] = random.between(0, 255);
    }
    return result;
  }),
  'cut off': damaged((bytes, random) => bytes.subarray(0, random.between(1, bytes.length))),
};
