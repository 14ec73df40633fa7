// Random uses of our statements, for a comparison of PostgreSQL with its model: what a step is.

import fc from 'fast-check';

export const SHARDS = [0, 1, 2];
const NODES = ['n1', 'n2'];
/** A pick below this is one of the first messages, if it is there. */
export const ANY_FROM = 20;
export const FREQUENT = 4;
const nat = fc.nat(2 * ANY_FROM);
const picks = fc.array(nat, { minLength: 1, maxLength: 3 });
const schedule = fc.constantFrom('a', 'a', 'b', 'c');
const epochBy = fc.constantFrom(-1, 0, 0, 0, 1);
const node = fc.constantFrom(...NODES);
const shards = fc.subarray(SHARDS);

const STEPS = {
  advance: fc.record({ ms: fc.constantFrom(1, 300, 1_000, 1_500, 1_500, 2_600, 9_000) }),
  grant: fc.record({ node, shards }),
  renew: fc.record({ node, shards, epochBy }),
  overtake: fc.record({ node, shards, epochBy }),
  overtaken: fc.record({ shards, epochBy }),
  accept: fc
    .array(fc.record({ index: fc.nat(8), keys: fc.subarray([0, 1, 2]) }), { minLength: 1, maxLength: 3 })
    .map((items) => ({ items })),
  record: fc.record({
    picks,
    state: fc.constantFrom('delivered' as const, 'delivered' as const, 'failed' as const, 'pending' as const),
    attempt: fc.integer({ min: 1, max: 3 }),
    callback: fc.boolean(),
  }),
  cancel: fc.record({ picks }),
  confirm: fc.record({ picks }),
  'give-up': fc.record({ pick: nat }),
  put: fc.record({
    index: fc.nat(4),
    held: fc.boolean(),
    overlap: fc.constantFrom('queue' as const, null),
    isSkipped: fc.constantFrom(false, false, true),
  }),
  save: fc.record({ id: schedule, index: fc.nat(3) }),
  batch: fc
    .array(fc.record({ id: schedule, index: fc.nat(3), paused: fc.boolean() }), { minLength: 1, maxLength: 3 })
    .map((items) => ({ items })),
  pause: fc.record({ id: schedule }),
  resume: fc.record({ id: schedule }),
  delete: fc.record({ id: schedule }),
  note: fc.record({ id: schedule, why: fc.constantFrom('one', 'two') }),
  fire: fc.record({
    ids: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
    isStale: fc.constantFrom(false, false, true),
    epochBy,
  }),
  release: fc.record({ ids: fc.subarray(['a', 'b', 'c'], { minLength: 1 }) }),
  'read-messages': fc.record({
    shard: fc.constantFrom(...SHARDS),
    fromMs: fc.nat(4_000),
    limit: fc.constantFrom(2, 50),
  }),
  'read-schedules': fc.record({ shard: fc.constantFrom(...SHARDS), limit: fc.constantFrom(1, 50) }),
  dispatch: fc.record({ picks }),
};

type Steps = { [Kind in keyof typeof STEPS]: (typeof STEPS)[Kind] extends fc.Arbitrary<infer Value> ? Value : never };
export type Step = { [Kind in keyof Steps]: { readonly kind: Kind } & Steps[Kind] }[keyof Steps];

const WEIGHTS: Partial<Record<keyof Steps, number>> = {
  fire: 5,
  accept: 4,
  record: 5,
  save: 3,
  put: 2,
  release: 2,
  advance: 3,
  cancel: 2,
};

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  ...(Object.keys(STEPS) as (keyof Steps)[]).map((kind) => ({
    weight: WEIGHTS[kind] ?? 1,
    arbitrary: (STEPS[kind] as fc.Arbitrary<object>).map((value) => ({ kind, ...value }) as Step),
  })),
);

export const READY: readonly Step[] = [
  { kind: 'grant', node: 'n1', shards: [0, 1] },
  { kind: 'grant', node: 'n2', shards: [2] },
  { kind: 'save', id: 'a', index: 0 },
  { kind: 'save', id: 'b', index: 1 },
  { kind: 'advance', ms: 1_500 },
];
