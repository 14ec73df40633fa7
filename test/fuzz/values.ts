// Texts for parameters and members: valid ones of each kind, odd ones of each kind, and odd ones that fit nowhere.

import type { SeededRandom } from '../kit/seeded-random.js';
import type { Kept, Pool } from './pool.js';

/** What valid values are made of. */
export interface World {
  readonly pool: Pool;
  /** A receiver that answers 200, and 500 below /fail. */
  readonly receiver: string;
}

export interface Kind {
  valid(random: SeededRandom, world: World): string;
  /** Odd values that look like those of this kind. */
  readonly odd: readonly string[];
}

const NEXT_YEAR = new Date().getUTCFullYear() + 1;
const among =
  (...values: string[]): Kind['valid'] =>
  (random) =>
    random.pick(values);

const NUMBERS = ['-0', '-1', '0', '00', '1e3', '1.5', '2147483647', '2147483648', '4294967296', '9007199254740993'];
const LARGE = ['9223372036854775807', '9223372036854775808', '1e308', '1e309', 'NaN', 'Infinity', '-Infinity', '0x10'];
const DATES = [
  ...['0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59.999Z'],
  ...['9999-12-31T23:59:59-23:59', '+275760-09-13T00:00:00Z', '-000001-01-01T00:00:00Z', '2026-02-30T00:00:00Z'],
  ...['1000000000000000', '8640000000000000', '8640000000000001', '253402300799999', '253402300800000', '-1', '0'],
  ...['2026-06-31', '2026-12-31T24:00:00Z', '2026-01-01T00:00:60Z', '2026-01-01T00:00:00+99:99', '253402300799'],
  ...['2026-01-01', '2026-01-01T00:00', '999999999999999', '281474976710655', '281474976710656', ' 1 ', '１２３'],
];
const URLS = [
  ...['http://', 'http:///x', 'http://[::1', 'http://[::1]:99999/', 'http://[fe80::1%25eth0]/', 'http://127.1:1/'],
  ...['http://0x7f000001:1/', 'http://2130706433:1/', 'http://a.invalid:0/', 'http://a.invalid:65536/'],
  ...['http://user:pass@a.invalid/', 'http://a.invalid\\@b.invalid/', 'HTTP://A.INVALID/x', 'https:a.invalid'],
  ...['ftp://a.invalid/', 'file:///etc/passwd', 'javascript:alert(1)', 'http://xn--.invalid/', 'http://ü.invalid/'],
  ...['http://a.invalid/%', 'http://a.invalid/%zz', 'http://a.invalid/%00', 'http://a.invalid/?#', 'http://.'],
  ...['http://a.invalid/\u0000', 'http://a.invalid/ x', 'http://a..invalid/', 'http://%61.invalid/', '//a.invalid'],
  ...['http%3A%2F%2Fa.invalid%2Fx%3Fy', 'http:%2f%2fa.invalid', 'http%253A%252F%252Fa.invalid', 'qstash', ''],
  ...[`http://${'a'.repeat(64)}.invalid/`, `http://${'a.'.repeat(130)}invalid/`],
];
const CRONS = [
  ...['* * * * * * *', '60 * * * *', '*/0 * * * *', '0-60/7 * * * *', '1-0 * * * *', '0 0 31 2 *', '0 0 29 2 *'],
  ...['@every 0s', '@every 1ns', '@every 99999999999d', '@every -1s', '@reboot', '@yearly x', '0 0 L * *', '0 0 * * 8'],
  ...['0 0 ? * ?', '0 0 1W * *', '0 0 * * 5#6', 'CRON_TZ= * * * * *', 'CRON_TZ=x/y 0 0 * * *', 'TZ=UTC 0 0 * * *'],
  ...[
    'H * * * *',
    '*',
    '',
    '0,0,0,0 * * * *',
    '1-2-3 * * * *',
    '* * * JAN-DEC MON-SUN',
    '* * * * 7-1',
    '*/99999 * * * *',
  ],
  ...[`${'0,'.repeat(400)}0 0 * * *`, `${'*/1,'.repeat(100)}1 * * * *`, '٣ * * * *', '0\u00a00\u00a0*\u00a0*\u00a0*'],
];
const ZONES = [
  ...['', 'UTC', 'utc', 'EST5EDT', 'Etc/GMT+14', 'Etc/GMT-15', '+01:00', '-00:00', '+99:99', 'America/Nowhere'],
  ...['Europe/Berlin\u0000', '../../etc/localtime', 'Local', 'europe/BERLIN', 'posix/UTC', 'US/Pacific-New', 'GMT0'],
];
const DURATIONS = [
  ...['', '0', '0s', '-1s', '1', '1x', '1ms', '1e3s', '99999999999999999999d', '1d1d', '1s1d', '.5s', '1.s', '1.5.5s'],
  ...['0.0000001s', '1s'.repeat(40), '１s', '1 s', 's', '400d', '400d1s', '3650d', '8640000000000s', '6m5.5s', '1µs'],
];
const EXPRESSIONS = [
  ...[
    '',
    '(',
    ')',
    '1/0',
    '0/0',
    '-1',
    'pow(10, 400)',
    'pow(2)',
    'pow(2, 3, 4)',
    'retried retried',
    'retriedx',
    '1..2',
  ],
  ...['constructor', '__proto__', 'toString()', 'min()', 'process.exit()', `${'('.repeat(100)}1${')'.repeat(100)}`],
  ...[`${'-'.repeat(500)}1`, `1${'+1'.repeat(300)}`, `min(${'1,'.repeat(250)}1)`, '1e400', '.', 'sqrt(-1)', '1 % 2'],
];
const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];
const IDS = [
  ...['msg_', 'msg_0', `msg_${'0'.repeat(32)}`, `msg_${'f'.repeat(32)}`, `msg_${'F'.repeat(32)}`, '0'.repeat(32)],
  ...[
    'msg_00000000-0000-0000-0000-000000000000',
    'dlq_x',
    `dlq_${'f'.repeat(32)}`,
    '.',
    '..',
    'batch',
    'counts',
    'retry',
  ],
  ...[
    'a'.repeat(255),
    'a'.repeat(256),
    'a'.repeat(257),
    'a'.repeat(1_024),
    'a'.repeat(1_025),
    'next',
    'ü',
    'a b',
    'a,b',
  ],
];
const CURSORS = [
  ...['', 'x', '=', 'ZGxx', cursor('dlq 1 2'), cursor(`dlq 999999999999999 ${'f'.repeat(32)}`), cursor('events 0')],
  ...[cursor(`events 999999999999999 ${'f'.repeat(32)} 99999999999`), cursor('runs'), cursor(`runs ${'0'.repeat(32)}`)],
  ...[cursor('schedules '), cursor(`pending 9999 ${'f'.repeat(32)}`), cursor(`pending 0 ${'f'.repeat(32)}`)],
  ...[cursor('dlq 99999999999999999999 x'), 'A'.repeat(400), 'A'.repeat(401)],
];

function cursor(text: string): string {
  return Buffer.from(text).toString('base64url');
}

function methods(): Kind {
  return {
    valid: among('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
    odd: ['get', 'HEAD', 'TRACE', 'CONNECT', 'P OST', '', 'G\u0000T'],
  };
}

const duration: Kind = { valid: among('1s', '10s', '1m30s', '2h', '1d', '30d'), odd: DURATIONS };
const whole = (from: number, to: number): Kind => ({
  valid: (random) => String(random.between(from, to)),
  odd: [...NUMBERS, ...LARGE, '100', '101', '500', '501', '1000', '1001', '1000000000', '１'],
});
const instant: Kind = {
  valid: (random) =>
    random.pick([`${NEXT_YEAR}-03-08T07:00:00Z`, '2024-01-01', '2026-03-08T03:00:00-04:00', String(Date.now())]),
  odd: [...DATES, ...LARGE],
};
const seconds: Kind = {
  valid: (random) => String(Math.floor(Date.now() / 1_000) + random.between(1, 86_400)),
  odd: [...DATES, ...NUMBERS, ...LARGE],
};
const flag: Kind = { valid: among('true', 'false'), odd: ['TRUE', '1', 'yes', '', 'truefalse'] };
const label: Kind = {
  valid: among('red', 'green', 'blue', 'red,green'),
  odd: [',', ',,', 'a,,b', 'a'.repeat(65), ...NAMES],
};
const key: Kind = {
  valid: (random) => `key-${random.between(0, 60)}`,
  odd: ['a:b', '{', '}', '{x}', '{occurrence}', '{yyyy-MM}', '{{', '', 'k'.repeat(512), 'k'.repeat(513), ...NAMES],
};
const url: Kind = {
  valid: (random, { receiver }) => `${receiver}/${random.pick(['a', 'b/c', 'd?e=f', 'fail/x'])}`,
  odd: URLS,
};
const id = (kept: Exclude<Kept, 'cursor'>, otherwise: string): Kind => ({
  valid: (random, { pool }) => pool.pick(random, kept, otherwise),
  odd: [...IDS, ...NAMES],
});

/** By the name of a parameter or member, in lower case. What is not named here takes a word. */
const KINDS: Readonly<Record<string, Kind>> = {
  destination: url,
  url,
  'upstash-callback': url,
  'upstash-failure-callback': url,
  host: { valid: among('127.0.0.1', 'a.invalid'), odd: ['', '[::1]', 'a:b', '127.0.0.1:99999', '*', 'ü.invalid'] },
  path: { valid: among('/a', '/fail/x'), odd: ['', '//', 'a', '/%', '/..'] },
  'upstash-method': methods(),
  'upstash-forward-*': { valid: among('one', 'two'), odd: ['', 'ü', '\ttab', '\u007f'] },
  'upstash-header-forward': flag,
  'upstash-content-based-deduplication': flag,
  'upstash-delay': duration,
  'upstash-timeout': { ...duration, valid: among('1s', '15', '1m') },
  'carillon-window': { ...duration, valid: among('1m', '1h') },
  'upstash-retries': whole(0, 2),
  'upstash-retry-delay': { valid: among('1000', 'pow(2, retried) * 1000', 'min(retried, 3)'), odd: EXPRESSIONS },
  'upstash-label': label,
  label,
  'upstash-redact-fields': {
    valid: among('body', 'header', 'header[Authorization]', 'body,header[x]'),
    odd: ['', ',', 'header[', 'header[]', 'header[\u0000]', 'bodY', 'header[a,b]', ...NAMES],
  },
  'upstash-not-before': seconds,
  'upstash-deduplication-id': key,
  'carillon-idempotency-key': key,
  key,
  'upstash-cron': {
    valid: among('0 2 * * *', '*/5 * * * *', '0 0 1 1 *', '@hourly', '@every 1h', 'CRON_TZ=Europe/Berlin 30 2 * * *'),
    odd: CRONS,
  },
  cron: { valid: among('0 2 * * *', '*/5 * * * * *', '@every 90s', '0 0 29 2 *'), odd: CRONS },
  'carillon-time-zone': { valid: among('Europe/Berlin', 'America/New_York', 'UTC'), odd: ZONES },
  timezone: { valid: among('Europe/Berlin', 'Australia/Lord_Howe', 'UTC'), odd: ZONES },
  'upstash-schedule-id': { valid: (random) => `fuzz-${random.between(0, 30)}`, odd: [...IDS, ...NAMES] },
  'carillon-misfire': {
    valid: among('skip', 'once', 'all', 'all; window=6h'),
    odd: ['all;', 'all; window=', 'once; window=1h', 'all; window=99d', 'all; window=1h; window=2h', ...NAMES],
  },
  'carillon-overlap': { valid: among('allow', 'skip', 'queue'), odd: ['', 'ALLOW', 'queue,skip', ...NAMES] },
  'carillon-start': seconds,
  'carillon-end': {
    valid: () => `${NEXT_YEAR + 1}-01-01T00:00:00Z`,
    odd: [...DATES, ...NUMBERS],
  },
  'carillon-keep': { valid: among('body', 'headers', 'callback,redact'), odd: ['', ',', 'body,,', 'all', ...NAMES] },
  messageid: id('messageId', `msg_${'1'.repeat(32)}`),
  messageids: id('messageId', `msg_${'1'.repeat(32)}`),
  sourcemessageid: id('messageId', `msg_${'1'.repeat(32)}`),
  dlqid: id('dlqId', 'dlq_1'),
  dlqids: id('dlqId', 'dlq_1'),
  scheduleid: id('scheduleId', 'fuzz-0'),
  schedule: id('scheduleId', 'fuzz-0'),
  id: id('scheduleId', 'fuzz-0'),
  name: id('tenant', 'rival'),
  tenant: id('tenant', 'rival'),
  tokenid: id('tokenId', '0123456789abcdef'),
  admintokenid: id('adminTokenId', '0123456789abcdef'),
  cursor: { valid: (random, { pool }) => pool.pick(random, 'cursor', cursor('x')), odd: CURSORS },
  count: whole(1, 50),
  responsestatus: { valid: among('500', '0'), odd: ['', '-1', '1000', '1e2', '５００'] },
  state: {
    valid: among('pending', 'delivered', 'active', 'CREATED'),
    odd: ['', 'DELIVERED,FAILED', 'cancelled', ...NAMES],
  },
  order: { valid: among('latestFirst', 'earliestFirst'), odd: ['', 'random', ...NAMES] },
  callerip: { valid: among('127.0.0.1', '::1'), odd: ['', '999.1.1.1', '::', '1', 'x'] },
  from: instant,
  to: instant,
  at: instant,
  occurrence: instant,
  fromdate: { ...instant, valid: among('2024-01-01', '1') },
  todate: { ...instant, valid: among(`${NEXT_YEAR + 2}-01-01`, '2524608000000') },
  idprefix: { valid: among('fuzz', 's'), odd: ['%', '_', '\\', '*', '\u0000', ...NAMES] },
  search: { valid: among('127', 'fuzz'), odd: ['%', '_', '\\', "'", '%%%%%%%%', ...NAMES] },
  bodybase64: { valid: among('aGVsbG8=', ''), odd: ['=', 'a', 'aGVsbG8', '!!!!', 'aGVs bG8=', '____'] },
  body: { valid: among('hello', '{"a":1}', ''), odd: ['\u0000', '\ud800'] },
  drainid: { valid: () => 'node-1-nobody', odd: [...IDS, ...NAMES] },
};
/** Some parameters have one name and different meanings. */
const KINDS_OF_OPERATIONS: Readonly<Record<string, string>> = {
  'POST /v2/schedules/{id} id': 'destination',
  'DELETE /admin/tenants/{name}/tokens/{id} id': 'tokenid',
  'DELETE /admin/tokens/{id} id': 'admintokenid',
  'POST /admin/nodes/{id}/drain id': 'drainid',
  'POST /admin/tenants name': 'word',
  'GET /v2/events state': 'eventstate',
  'GET /v2/logs state': 'eventstate',
  'GET /v2/schedules state': 'schedulestate',
  'GET /v2/runs state': 'runstate',
  'GET /v2/runs/counts state': 'runstate',
};
const MORE_KINDS: Readonly<Record<string, Kind>> = {
  eventstate: {
    valid: among('CREATED', 'ACTIVE', 'DELIVERED'),
    odd: ['', 'active', 'IN_PROGRESS,IN_PROGRESS', ...NAMES],
  },
  schedulestate: { valid: among('active', 'paused', 'ended'), odd: ['', 'ACTIVE', 'deleted', ...NAMES] },
  runstate: { valid: among('pending', 'delivered', 'failed'), odd: ['', 'PENDING', 'cancelled', ...NAMES] },
  word: { valid: (random) => `word-${random.between(0, 1_000_000)}`, odd: [...NAMES, ...IDS] },
};
const WORD = MORE_KINDS.word!;
/** Names are any text here, `constructor` among them. */
const BY_NAME = new Map(Object.entries({ ...KINDS, ...MORE_KINDS }));

export function kindOf(operation: string, name: string): Kind {
  const known = KINDS_OF_OPERATIONS[`${operation} ${name}`] ?? name.toLowerCase();
  return BY_NAME.get(known) ?? WORD;
}

/** Around each limit that a text may meet: ids, labels, keys, expressions, URLs, filters, headers. */
const LENGTHS = [
  63, 64, 65, 200, 201, 255, 256, 257, 400, 401, 512, 513, 1_024, 1_025, 2_048, 4_096, 4_097, 8_192, 8_193,
];
const CHARACTERS = [
  '\u0000',
  '\u0001',
  '\t',
  '\r\n',
  '\u007f',
  '\u0080',
  '\u202e',
  '\u2066',
  '\ufeff',
  '\ud800',
  '\udc00',
  '\u{1f600}',
];
const TEXTS = [
  '',
  ' ',
  'null',
  'undefined',
  'true',
  '[]',
  '{}',
  "' or 1=1 --",
  '${1}',
  '../../x',
  '%00',
  '%25',
  '%',
  ...NAMES,
];

/** A text that no parameter expects. */
export function oddText(random: SeededRandom): string {
  switch (random.between(0, 4)) {
    case 0:
      return random.pick(['a', '0', 'ü', '\u{1f600}', '%', ',']).repeat(random.pick(LENGTHS));
    case 1:
      return random.pick(CHARACTERS);
    case 2:
      return random.pick([...NUMBERS, ...LARGE, ...DATES]);
    case 3:
      return `a${random.pick(CHARACTERS)}b`;
    default:
      return random.pick(TEXTS);
  }
}

const PUNCTUATION = ',;:/?#[]@!$&\'()*+= \\"<>{}|^`~-_.0123456789';

/** A text that is nearly the given one. */
export function nearly(random: SeededRandom, text: string): string {
  const at = random.between(0, text.length);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  switch (random.between(0, 7)) {
    case 0:
      return before + random.pick(CHARACTERS) + after;
    case 1:
      return before + after.slice(1);
    case 2:
      return before + after.charAt(0) + after;
    case 3:
      return before + PUNCTUATION.charAt(random.between(0, PUNCTUATION.length - 1)) + after.slice(1);
    case 4:
      return text + text;
    case 5:
      return text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();
    case 6:
      return before;
    default:
      return `${random.pick([' ', '\t', '\n', '\u00a0'])}${text}${random.pick([' ', '\t', '\n', '\u00a0'])}`;
  }
}
