// Damages JSON: wrong types, borders of numbers, members too many, too few or twice, depth, length; and text that is hardly JSON.

import type { SeededRandom } from '../kit/seeded-random.js';
import type { Json } from './draft.js';
import { kindOf, nearly, oddText } from './values.js';

/** Stands for text that JSON.stringify would not write; `jsonText` puts it in. */
const RAW = '\u0002raw:';
const RAW_VALUES = [
  '-0',
  '1e400',
  '-1e400',
  '9007199254740993',
  '1E+2',
  '1.0',
  '18446744073709551616',
  '"\\ud800"',
  '"\\u0000"',
];
const VALUES: readonly Json[] = [
  ...[null, true, false, 0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324, '', 'x', [], {}],
  ...[[null], [[]], { a: 1 }, ['x', 1], { __proto__: null, length: 1 }],
];
const MEMBERS = ['__proto__', 'constructor', 'prototype', 'toString', 'length', '', 'a\u0000', 'Destination', 'extra'];
const DEPTH = 8_000;
const LONG_LIST = 20_000;

export function mutateJson(random: SeededRandom, json: Json): Json {
  const places = placesOf(json);
  const place = random.pick(places);
  if (place === null) return oddJson(random, json, '');
  const { holder, name } = place;
  const now = holder[name]!;
  switch (random.between(0, 3)) {
    case 0:
      if (Array.isArray(holder)) holder.push(now);
      else Reflect.deleteProperty(holder, name);
      break;
    case 1:
      if (!Array.isArray(holder)) setMember(holder, random.pick(MEMBERS), oddJson(random, now, name));
      break;
    default:
      holder[name] = oddJson(random, now, name);
  }
  return json;
}

function oddJson(random: SeededRandom, now: Json, name: string): Json {
  switch (random.between(0, 5)) {
    case 5:
      return random.pick(kindOf('', name).odd);
    case 0:
      return RAW + random.pick(RAW_VALUES);
    case 1:
      return oddText(random);
    case 2:
      return typeof now === 'string' ? nearly(random, now) : [now];
    default:
      return structuredClone(random.pick(VALUES));
  }
}

interface Place {
  readonly holder: Record<string, Json> | (Json[] & Record<string, Json>);
  readonly name: string;
}

/** Every value within `json`, and null for itself. */
function placesOf(json: Json): (Place | null)[] {
  if (typeof json !== 'object' || json === null) return [null];
  const holder = json as Place['holder'];
  const below = Object.keys(holder).flatMap((name) => [
    { holder, name },
    ...placesOf(holder[name]!).filter((place) => place !== null),
  ]);
  return [null, ...below];
}

/** Also for `__proto__`, which an assignment would not make a member. */
function setMember(object: object, name: string, value: Json): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

export function jsonText(json: Json): string {
  return JSON.stringify(json).replace(
    /"\\u0002raw:((?:[^"\\]|\\.)*)"/g,
    (_all, text: string) => JSON.parse(`"${text}"`) as string,
  );
}

/** Bytes in place of a JSON body, from hardly wrong to not JSON at all. `text` is what the body was. */
export function oddBytes(random: SeededRandom, text: string, bodyMaxBytes: number): Buffer {
  switch (random.between(0, 9)) {
    case 0:
      return Buffer.from('['.repeat(DEPTH) + text + ']'.repeat(DEPTH));
    case 1:
      return Buffer.from(`${'{"a":'.repeat(DEPTH)}${text}${'}'.repeat(DEPTH)}`);
    case 2:
      return Buffer.from(`[${'{},'.repeat(LONG_LIST)}0]`);
    case 3:
      return Buffer.from(text.replace(/\{/, `{"${random.pick(MEMBERS)}":1,"destination":"x","destination":"y",`));
    case 4:
      return Buffer.concat([Buffer.from('\ufeff'), Buffer.from(text)]);
    case 5:
      return Buffer.from(random.pick(['c080', 'eda080', 'f4908080', 'ff', 'fffe', '00', '2222', 'efbfbf']), 'hex');
    case 6:
      return Buffer.from(text.slice(0, random.between(0, text.length)));
    case 7:
      return Buffer.from(Array.from({ length: random.between(1, 64) }, () => random.between(0, 255)));
    case 8:
      return Buffer.alloc(bodyMaxBytes + random.between(-1, 1), random.pick(['a', '[', '"', ' ', '1']));
    default:
      return Buffer.from(nearly(random, text));
  }
}
