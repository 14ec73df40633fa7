/** Bodies that nobody should send, of about the size of the largest batch: what a node must shrug off. */

const MIB = 2 ** 20;
const SIZE = 31 * MIB;

const repeated = (unit: string, size = SIZE): string => unit.repeat(Math.floor(size / unit.length));
const list = (unit: string): string => `[${repeated(`${unit},`)}${unit}]`;

function headersItem(destination: string, headers: number): string {
  const all = Object.fromEntries(Array.from({ length: headers }, (_, n) => [`x-h-${n}`, 'v']));
  return JSON.stringify({ destination, headers: all });
}

/** Each with the statuses that it may be answered with; made when asked for, since each takes 31 MiB. */
export const NONSENSE: readonly (readonly [name: string, make: () => Buffer, statuses: readonly number[]])[] = [
  ['objects without end', () => Buffer.from(list('{}')), [400]],
  ['numbers', () => Buffer.from(list('1234567')), [400]],
  ['one string', () => Buffer.from(`["${repeated('a')}"]`), [413]],
  ['one string of escapes', () => Buffer.from(`["${repeated('\\u0041')}"]`), [413]],
  ['lists in lists', () => Buffer.from(repeated('[')), [400]],
  ['objects in objects', () => Buffer.from(`[${repeated('{"a":')}`), [400]],
  ['bytes that are no text', () => Buffer.alloc(SIZE, 0xb5), [400]],
  ['a list of bytes that are no text', () => Buffer.concat([Buffer.from('['), Buffer.alloc(SIZE, 0xb5)]), [400, 413]],
  ['blanks', () => Buffer.alloc(SIZE, ' '), [400]],
  ['one number', () => Buffer.concat([Buffer.from('['), Buffer.alloc(SIZE, '7'), Buffer.from(']')]), [413]],
  ['an object of very many members', () => Buffer.from(`[{${repeated('"ab":1,')}"c":1}]`), [400]],
  [
    '900 items of 2,200 headers',
    () => Buffer.from(`[${Array.from({ length: 900 }, () => headersItem('https://a.test/x', 2_200)).join()}]`),
    [200],
  ],
  [
    'a wrong type in the last of 900 items',
    () => Buffer.from(`[${`{"destination":5,"body":"${'b'.repeat(35_000)}"},`.repeat(899)}7]`),
    [200],
  ],
  [
    'a list without end',
    () => Buffer.from(`[${`{"destination":5,"body":"${'b'.repeat(35_000)}"},`.repeat(900)}`),
    [400],
  ],
];
