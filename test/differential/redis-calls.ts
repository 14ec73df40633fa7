// Random calls of our scripts, for a comparison of the real ones with their models: what a step is, and the keys and
// arguments it comes to.

import fc from 'fast-check';
import { shardKeys } from '../../src/redis/keys.js';
import type { RedisServer } from '../sim/redis-server.js';

/** One call of a script. */
export interface Call {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

const PREFIX = 'compared';
const KEYS = shardKeys(PREFIX, 1);
const { due, inflight, task, state, tomb } = KEYS;
const MESSAGES = ['m1', 'm2', 'm3', 'm4'];
const SCHEDULES = ['s:1:a', 's:1:b'];
const LOCKS = [1, 2, 3].map((shard) => `${PREFIX}:{locks}:lease:${shard}`);
const ROSTER = ['members', 'about', 'owners', 'deaths'].map((name) => `${PREFIX}:roster:${name}`);
const FRESH_MS = 5_000;
const VISIBILITY_MS = 15_000;
/** Redis ends a set of tombstones and a lock by its own time: the steps of ours are whole seconds apart from it. */
const TOMBSTONE_MS = 60_000;
const LEASE_MS = 5_000;
const REMEMBERED_MS = 20_000;

const message = fc.constantFrom(...MESSAGES);
const schedule = fc.constantFrom(...SCHEDULES);
const anyEntry = fc.constantFrom(...MESSAGES, ...SCHEDULES);
/** Due times from now on: past ones, the present, edges of it, near ones, and one beyond most horizons. */
const dueIn = fc.constantFrom<number>(-9_000, -900, -1, 0, 1, 300, 4_000, 600_000, 99_000_000);
const orNone = fc.option(dueIn, { nil: null });
const payload = fc.constantFrom('', 'p', 'q');
const epochStep = fc.constantFrom(-1, 0, 0, 0, 0, 1);
const generation = fc.integer({ min: 1, max: 4 });
const entry = fc.record({ id: message, dueIn, payload });
const token = fc.constantFrom('held', 'held', 'other');
const node = fc.constantFrom('n1', 'n2', 'n3');
const shards = fc.uniqueArray(fc.constantFrom('0', '1', '2'), { maxLength: 3 });
const locks = fc.subarray([0, 1, 2], { minLength: 1 });

/** Steps by what they are; `advance` lets time pass. */
const STEPS = {
  advance: fc.record({ ms: fc.constantFrom(1, 40, 999, 4_000, 5_053, 15_000, 61_000) }),
  fence: fc.record({ epochStep, run: fc.constantFrom('r1', 'r1', 'r2'), forget: fc.constantFrom(0, 0, 0, 1) }),
  horizon: fc.record({ epochStep, announceIn: orNone, completeIn: orNone }),
  accept: fc.record({
    madeAgo: fc.constantFrom(0, 900, 4_999, 5_000, 60_000),
    entries: fc.array(entry, { maxLength: 3 }),
  }),
  promote: fc.record({ epochStep, entries: fc.array(entry, { maxLength: 3 }), schedule, dueIn, generation }),
  claim: fc.record({ epochStep, limit: fc.integer({ min: 1, max: 4 }), answerIn: fc.constantFrom(5_000, 0, -1) }),
  settle: fc.oneof(
    fc.record({ id: message, token, backIn: orNone, payload }),
    // A schedule never comes back with a payload: that would be taken for its generation.
    fc.record({ id: schedule, token, backIn: orNone, payload: fc.constant('') }),
  ),
  'extend-visibility': fc.record({ ids: fc.array(anyEntry, { minLength: 1, maxLength: 2 }), token }),
  cancel: fc.record({ ids: fc.array(message, { minLength: 1, maxLength: 2 }) }),
  reschedule: fc.record({ id: schedule, dueIn: orNone, generation }),
  fire: fc.record({
    epochStep,
    madeAgo: fc.constantFrom(0, 5_000),
    limit: fc.constantFrom(-1, -1, 1, 3),
    firings: fc.array(
      fc.record({ id: schedule, token, dueIn: orNone, generation, messages: fc.array(entry, { maxLength: 2 }) }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  'lock-acquire': fc.record({ locks, node }),
  'lock-extend': fc.record({ locks, node }),
  'lock-release': fc.record({ locks, node }),
  heartbeat: fc.record({ node, about: payload, owned: shards }),
  'clear-owner': fc.record({ node, owned: shards }),
};

type Steps = { [Kind in keyof typeof STEPS]: (typeof STEPS)[Kind] extends fc.Arbitrary<infer Value> ? Value : never };
export type Step = { [Kind in keyof Steps]: { readonly kind: Kind } & Steps[Kind] }[keyof Steps];

const WEIGHTS: Partial<Record<keyof Steps, number>> = {
  claim: 4,
  advance: 3,
  fire: 3,
  accept: 2,
  promote: 2,
  reschedule: 2,
};

export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  ...(Object.keys(STEPS) as (keyof Steps)[]).map((kind) => ({
    weight: WEIGHTS[kind] ?? 1,
    arbitrary: (STEPS[kind] as fc.Arbitrary<object>).map((value) => ({ kind, ...value }) as Step),
  })),
);

/** A shard that takes work, so that most steps have something to work on. */
export const READY: readonly Step[] = [
  { kind: 'fence', epochStep: 0, run: 'r1', forget: 0 },
  { kind: 'horizon', epochStep: 0, announceIn: 3_600_000, completeIn: 3_600_000 },
  { kind: 'advance', ms: 4_000 },
];

/**
 * What a step asks for, given what the model has: both sides have the same, or were found to differ before. Null:
 * nothing of Redis.
 */
export function callOf(step: Step, redis: RedisServer): Call | null {
  const nowMs = redis.timeMs();
  const epoch = (by: number): number => Number(redis.hash(state).get('epoch') ?? 7) + by;
  const at = (inMs: number | null): number | '' => (inMs === null ? '' : nowMs + inMs);
  const tokenOf = (id: string, which: string): string =>
    which === 'held' ? (redis.hash(task).get(id) ?? 'none') : '7.1.1';
  const triple = (given: { id: string; dueIn: number; payload: string }) => [
    given.id,
    nowMs + given.dueIn,
    given.payload,
  ];
  const all = [due, inflight, task, state, tomb];
  const lockKeys = (which: readonly number[]): string[] => which.map((index) => LOCKS[index] ?? '');
  switch (step.kind) {
    case 'advance':
      return null;
    case 'fence':
      return { script: 'fence', keys: [state], args: [epoch(step.epochStep), step.run, step.forget] };
    case 'horizon':
      return { script: 'promote', keys: all, args: [epoch(step.epochStep), at(step.announceIn), at(step.completeIn)] };
    case 'accept':
      return { script: 'accept', keys: all, args: [FRESH_MS, nowMs - step.madeAgo, ...step.entries.flatMap(triple)] };
    case 'promote': {
      const position = [step.schedule, nowMs + step.dueIn, step.generation];
      return {
        script: 'promote',
        keys: all,
        args: [epoch(step.epochStep), '', '', ...step.entries.flatMap(triple), ...position],
      };
    }
    case 'claim':
      return {
        script: 'claim',
        keys: [due, inflight, task, state],
        args: [epoch(step.epochStep), step.limit, VISIBILITY_MS, nowMs + step.answerIn],
      };
    case 'settle':
      return {
        script: 'settle',
        keys: [due, inflight, task, tomb],
        args: [step.id, tokenOf(step.id, step.token), at(step.backIn), step.payload],
      };
    case 'extend-visibility':
      return {
        script: 'extend-visibility',
        keys: [inflight, task],
        args: [VISIBILITY_MS, ...step.ids.flatMap((id) => [id, tokenOf(id, step.token)])],
      };
    case 'cancel':
      return { script: 'cancel', keys: [due, inflight, task, tomb], args: [TOMBSTONE_MS, ...step.ids] };
    case 'reschedule':
      return {
        script: 'reschedule',
        keys: [due, inflight, task, state],
        args: [step.id, at(step.dueIn), step.generation],
      };
    case 'fire': {
      const firings = step.firings.flatMap(({ id, token: which, dueIn: next, generation: of, messages }) => [
        ...[id, tokenOf(id, which), at(next), of, messages.length],
        ...messages.flatMap(triple),
      ]);
      const args = [epoch(step.epochStep), FRESH_MS, nowMs - step.madeAgo, step.limit, ...firings];
      return { script: 'fire', keys: all, args };
    }
    case 'lock-acquire':
    case 'lock-extend':
      return { script: step.kind, keys: lockKeys(step.locks), args: [step.node, LEASE_MS] };
    case 'lock-release':
      return { script: step.kind, keys: lockKeys(step.locks), args: [step.node] };
    case 'heartbeat':
      return {
        script: 'heartbeat',
        keys: ROSTER,
        args: [step.node, step.about, LEASE_MS, REMEMBERED_MS, ...step.owned],
      };
    case 'clear-owner':
      return { script: 'clear-owner', keys: ROSTER.slice(2, 3), args: [step.node, ...step.owned] };
  }
}
