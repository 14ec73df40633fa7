// Damages what a request means: its values, its parameters, its settings, its body, its caller.

import type { SeededRandom } from '../kit/seeded-random.js';
import type { Caller, Draft, Drafts, Json } from './draft.js';
import { jsonText, mutateJson, oddBytes } from './json-mutations.js';
import { kindOf, nearly, oddText, type World } from './values.js';

export interface Tools {
  readonly random: SeededRandom;
  readonly world: World;
  readonly drafts: Drafts;
  readonly bodyMaxBytes: number;
}

type DraftMutation = (draft: Draft, tools: Tools) => void;

/** A parameter of any place, to be read and changed alike. */
interface Slot {
  readonly name: string;
  readonly value: string;
  set(value: string): void;
  remove(): void;
}

function slotsOf(draft: Draft): Slot[] {
  const inPath = [...draft.path].map(([name, value]) => ({
    name,
    value,
    set: (next: string) => void draft.path.set(name, next),
    remove: () => void draft.path.set(name, ''),
  }));
  const inLists = [draft.query, draft.headers].flatMap((list) =>
    list.map((pair) => ({
      name: pair[0],
      value: pair[1],
      set: (next: string) => void (pair[1] = next),
      remove: () => void list.splice(list.indexOf(pair), 1),
    })),
  );
  return [...inPath, ...inLists];
}

/** Changes a text, but for where a URL leads: nothing here may call hosts that are not ours. */
function nearlySame(random: SeededRandom, text: string): string {
  const authority = /^https?:\/\/[^/?#]*/i.exec(text)?.[0] ?? '';
  return authority + nearly(random, text.slice(authority.length));
}

function onSlot(change: (slot: Slot, draft: Draft, tools: Tools) => void): DraftMutation {
  return (draft, tools) => {
    // Where there is nothing to change there is something to add.
    const slots = slotsOf(draft);
    if (slots.length === 0) draft.query.push([tools.random.pick(STRANGE_NAMES), oddText(tools.random)]);
    else change(tools.random.pick(slots), draft, tools);
  };
}

function addOdd(draft: Draft, { random, world }: Tools): void {
  const parameter = draft.operation.parameters.length === 0 ? null : random.pick(draft.operation.parameters);
  if (parameter === null || parameter.in === 'path') return;
  const kind = kindOf(draft.operation.name, parameter.name);
  const value = random.happens(0.5) ? random.pick(kind.odd) : kind.valid(random, world);
  (parameter.in === 'query' ? draft.query : draft.headers).push([parameter.name.replace('*', 'Odd'), value]);
}

const STRANGE_NAMES = ['__proto__', 'constructor', 'toString', 'x', 'Count', 'count[]', 'a.b', '', 'upstash-delay'];
const STRANGE_SETTINGS = [
  'Upstash-Nonsense',
  'Carillon-X',
  'Upstash-Forward-',
  'Upstash-Forward-__proto__',
  'Upstash-Delay-',
];
const MEDIA_TYPES = [
  'text/plain',
  'application/json; charset=utf-16',
  '',
  'multipart/form-data',
  'application/json,x',
  ';',
  'ü',
];
const CALLERS: readonly Caller[] = ['default', 'rival', 'admin', 'nobody'];
const TENANTS = ['default', 'rival', '', 'nobody-here', '__proto__', 'a b', 'default,rival', 'ü'];

export const DRAFT_MUTATIONS: Readonly<Record<string, DraftMutation>> = {
  'odd value': onSlot((slot, draft, { random }) => slot.set(random.pick(kindOf(draft.operation.name, slot.name).odd))),
  'text that fits nowhere': onSlot((slot, _draft, { random }) => slot.set(oddText(random))),
  'nearly the value': onSlot((slot, _draft, { random }) => slot.set(nearlySame(random, slot.value))),
  'missing parameter': onSlot((slot) => slot.remove()),
  'parameter twice': onSlot((slot, draft, { random }) => {
    const value = random.happens(0.5) ? slot.value : oddText(random);
    (random.happens(0.5) ? draft.query : draft.headers).push([slot.name, value]);
  }),
  'another parameter': addOdd,
  'unknown parameter': (draft, { random }) => draft.query.push([random.pick(STRANGE_NAMES), oddText(random)]),
  'many parameters': (draft, { random }) => {
    const count = random.pick([99, 100, 101, 500, 1_001]);
    const name = draft.query[0]?.[0] ?? random.pick(STRANGE_NAMES);
    for (let index = 0; index < count; index++) draft.query.push([name, String(index)]);
  },
  'setting that conflicts': (draft, { random, drafts }) => draft.headers.push(drafts.setting(random)),
  'odd setting': (draft, { random, drafts }) => {
    const [name] = drafts.setting(random);
    draft.headers.push([name, random.pick(kindOf('', name).odd)]);
  },
  'setting in the query': (draft, { random, drafts }) => {
    const [name, value] = drafts.setting(random);
    draft.query.push([name.toLowerCase(), random.happens(0.5) ? value : oddText(random)]);
  },
  'unknown setting': (draft, { random }) => draft.headers.push([random.pick(STRANGE_SETTINGS), oddText(random)]),
  'cursor of any list': (draft, { random, world }) => {
    const cursor = world.pool.pick(random, 'cursor', 'ZGxx');
    draft.query.push(['cursor', random.happens(0.6) ? cursor : nearly(random, cursor)]);
  },
  'odd JSON': (draft, { random }) => {
    const json = draft.body !== null && 'json' in draft.body ? draft.body.json : {};
    draft.body = { json: mutateJson(random, random.happens(0.3) ? mutateJson(random, json) : json) };
  },
  'odd setting of an item': (draft, { random, drafts }) => {
    const items = draft.body !== null && 'json' in draft.body ? draft.body.json : null;
    const item = Array.isArray(items) && items.length > 0 ? random.pick(items) : null;
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return;
    const [name, value] = drafts.setting(random);
    const odd = random.happens(0.7) ? random.pick(kindOf('', name).odd) : value;
    item.headers = { ...(item.headers as Record<string, Json>), [name]: random.happens(0.8) ? odd : [odd, value] };
  },
  'odd bytes': (draft, { random, bodyMaxBytes }) => {
    const text = draft.body === null ? '{}' : 'json' in draft.body ? jsonText(draft.body.json) : '';
    draft.body = { bytes: oddBytes(random, text, bodyMaxBytes) };
  },
  'media type': (draft, { random }) => draft.headers.push(['Content-Type', random.pick(MEDIA_TYPES)]),
  'another caller': (draft, { random }) => void (draft.caller = random.pick(CALLERS)),
  'acts for a tenant': (draft, { random }) => {
    if (random.happens(0.7)) draft.caller = 'admin';
    draft.headers.push(['Carillon-Tenant', random.pick(TENANTS)]);
  },
};
