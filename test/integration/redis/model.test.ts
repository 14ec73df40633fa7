// Random sequences of everything that can be done to a shard's queue, beside a model that a reader can check by eye.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseScheduleEntry } from '../../../src/redis/keys.js';
import { entry, EPOCH, openQueue, type OpenQueue } from '../../support/queue.js';

let open: OpenQueue;
beforeAll(async () => {
  open = await openQueue();
});
afterAll(() => open.close());

const IDS = ['m1', 'm2', 'm3', 'm4', 's:1:a', 's:1:b'];
/** Relative to the start of a run. Half are due already; the last lies beyond the horizon. */
const DUE = [-900, -600, -300, 600_000, 900_000, 99_000_000];

type Step =
  | { readonly kind: 'accept' | 'promote'; readonly id: string; readonly dueMs: number; readonly payload: string }
  | { readonly kind: 'claim'; readonly limit: number; readonly epoch: number }
  | { readonly kind: 'settle' | 'settle-stale'; readonly id: string; readonly backMs: number | null }
  | { readonly kind: 'lapse' | 'cancel' | 'touch'; readonly id: string }
  | { readonly kind: 'reschedule'; readonly id: string; readonly dueMs: number | null; readonly generation: number }
  | { readonly kind: 'fire'; readonly id: string; readonly dueMs: number | null; readonly generation: number };

const message = fc.constantFrom(...IDS.slice(0, 4));
const schedule = fc.constantFrom(...IDS.slice(4));
const dueMs = fc.constantFrom(...DUE);
const orNull = fc.option(dueMs, { nil: null });
const generation = fc.integer({ min: 1, max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('accept' as const, 'promote' as const),
    id: message,
    dueMs,
    payload: fc.constantFrom('', 'p', 'q'),
  }),
  {
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      limit: fc.integer({ min: 1, max: 4 }),
      epoch: fc.constantFrom(EPOCH - 1, EPOCH, EPOCH),
    }),
    weight: 2,
  },
  fc.record({
    kind: fc.constantFrom('settle' as const, 'settle-stale' as const),
    id: fc.constantFrom(...IDS),
    backMs: orNull,
  }),
  fc.record({ kind: fc.constantFrom('lapse' as const, 'touch' as const), id: fc.constantFrom(...IDS) }),
  fc.record({ kind: fc.constant('cancel' as const), id: message }),
  fc.record({ kind: fc.constant('reschedule' as const), id: schedule, dueMs: orNull, generation }),
  fc.record({ kind: fc.constant('fire' as const), id: schedule, dueMs: orNull, generation }),
);

interface Waiting {
  dueAtMs: number;
  payload: string;
}

/** What should be in Redis: a map for what waits, one for what is in flight, and the buried. */
class Model {
  readonly due = new Map<string, Waiting>();
  readonly flying = new Map<
    string,
    { token: string; lapsed: boolean; moved: { dueAtMs: number | null; generation: number } | null }
  >();
  readonly buried = new Set<string>();
  /** Every token ever given. */
  readonly tokens = new Map<string, string[]>();

  constructor(readonly horizonAtMs: number) {}

  put(id: string, dueAtMs: number, payload: string): void {
    if (dueAtMs >= this.horizonAtMs || this.buried.has(id) || this.flying.has(id) || this.due.has(id)) return;
    this.due.set(id, { dueAtMs, payload });
  }

  /** What a claim must bring, in order. */
  claim(limit: number, nowMs: number): { id: string; payload: string }[] {
    const lapsed = [...this.flying].filter(([, { lapsed: isLapsed }]) => isLapsed).map(([id]) => id);
    for (const id of lapsed.sort().slice(0, limit)) {
      this.remembered.set(id, this.flying.get(id)!.moved);
      this.flying.delete(id);
      this.due.set(id, { dueAtMs: nowMs, payload: '' });
    }
    const ready = [...this.due].filter(([, { dueAtMs }]) => dueAtMs <= nowMs);
    ready.sort(([a, x], [b, y]) => x.dueAtMs - y.dueAtMs || (a < b ? -1 : 1));
    return ready.slice(0, limit).map(([id, { payload }]) => ({ id, payload }));
  }

  /** A change to a schedule in flight is known until it is fired, also over a lapse. */
  readonly remembered = new Map<string, { dueAtMs: number | null; generation: number } | null>();

  taken(id: string, token: string): void {
    this.due.delete(id);
    this.flying.set(id, { token, lapsed: false, moved: this.remembered.get(id) ?? null });
    this.tokens.set(id, [...(this.tokens.get(id) ?? []), token]);
  }

  reschedule(id: string, dueAtMs: number | null, generation_: number): void {
    const flight = this.flying.get(id);
    if (flight !== undefined) {
      const { moved } = flight;
      if (moved?.dueAtMs == null || moved.generation <= generation_) {
        flight.moved = { dueAtMs, generation: generation_ };
        this.remembered.set(id, flight.moved);
      }
      return;
    }
    if (Number(this.due.get(id)?.payload ?? 0) > generation_) return;
    this.place(id, dueAtMs, generation_);
  }

  place(id: string, dueAtMs: number | null, generation_: number): void {
    if (dueAtMs === null || dueAtMs >= this.horizonAtMs) this.due.delete(id);
    else this.due.set(id, { dueAtMs, payload: String(generation_) });
  }

  fire(id: string, dueAtMs: number | null, generation_: number): void {
    const { moved } = this.flying.get(id)!;
    this.flying.delete(id);
    this.remembered.delete(id);
    if (moved === null || moved.generation === generation_) {
      this.place(id, dueAtMs, generation_);
      return;
    }
    const places = [dueAtMs, moved.dueAtMs].filter((place) => place !== null);
    this.place(id, places.length === 0 ? null : Math.min(...places), moved.generation);
  }
}

async function apply(given: Step, model: Model, shard: number, startMs: number): Promise<void> {
  const { queue, redis, keys } = open;
  const at = (relativeMs: number): number => startMs + relativeMs;
  const atOrNull = (relativeMs: number | null): number | null => (relativeMs === null ? null : at(relativeMs));
  switch (given.kind) {
    case 'accept':
    case 'promote': {
      const enqueued = entry(given.id, at(given.dueMs), given.payload);
      if (given.kind === 'accept') await queue.accept(shard, [enqueued]);
      else await queue.promote(shard, EPOCH, [enqueued]);
      // A sweep's payload is kept only for what is still to come.
      const isKept = given.kind === 'accept' || given.dueMs > 0;
      model.put(given.id, enqueued.dueAtMs, isKept ? given.payload : '');
      return;
    }
    case 'claim': {
      const reply = await queue.claim(shard, given.epoch, given.limit);
      expect(reply.kind).toBe(given.epoch < EPOCH ? 'stale' : 'claimed');
      if (reply.kind !== 'claimed') return;
      const expected = model.claim(given.limit, reply.nowMs);
      expect(reply.claims.map(({ id, payload }) => ({ id, payload }))).toEqual(expected);
      for (const { id, token } of reply.claims) model.taken(id, token);
      return;
    }
    case 'settle':
    case 'settle-stale': {
      const flight = model.flying.get(given.id);
      const stale = (model.tokens.get(given.id) ?? ['none']).find((token) => token !== flight?.token) ?? 'none';
      const token = given.kind === 'settle' ? (flight?.token ?? stale) : stale;
      const holds = token === flight?.token;
      expect(await queue.settle(shard, [{ id: given.id, token, backAtMs: atOrNull(given.backMs) }])).toEqual([holds]);
      if (!holds) return;
      model.flying.delete(given.id);
      if (given.backMs !== null) model.due.set(given.id, { dueAtMs: at(given.backMs), payload: '' });
      return;
    }
    case 'touch': {
      const flight = model.flying.get(given.id);
      const [held] = await queue.extendVisibility(shard, [{ id: given.id, token: flight?.token ?? 'none' }]);
      expect(held).toBe(flight !== undefined);
      if (flight !== undefined) flight.lapsed = false;
      return;
    }
    case 'lapse': {
      const flight = model.flying.get(given.id);
      if (flight === undefined) return;
      await redis.zadd(keys(shard).inflight, 'XX', 1, given.id);
      flight.lapsed = true;
      return;
    }
    case 'cancel': {
      const [result] = await queue.cancel(shard, [given.id]);
      const known = model.due.has(given.id) ? 'taken-out' : model.flying.has(given.id) ? 'in-flight' : 'absent';
      expect(result).toBe(known);
      model.due.delete(given.id);
      model.buried.add(given.id);
      return;
    }
    case 'reschedule':
      await queue.reschedule(shard, given.id, atOrNull(given.dueMs), given.generation);
      model.reschedule(given.id, atOrNull(given.dueMs), given.generation);
      return;
    case 'fire': {
      const flight = model.flying.get(given.id);
      const nextAtMs = atOrNull(given.dueMs);
      const firing = { entry: given.id, nextAtMs, generation: given.generation, messages: [] };
      await queue.fire(shard, EPOCH, [{ ...firing, token: flight?.token ?? 'none' }]);
      if (flight !== undefined) model.fire(given.id, nextAtMs, given.generation);
    }
  }
}

async function expectSame(model: Model, shard: number): Promise<void> {
  const { redis, keys } = open;
  const due = await redis.zrange(keys(shard).due, 0, '-1', 'WITHSCORES');
  const scores = Object.fromEntries(due.flatMap((id, index) => (index % 2 ? [] : [[id, Number(due[index + 1])]])));
  expect(scores).toEqual(Object.fromEntries([...model.due].map(([id, { dueAtMs }]) => [id, dueAtMs])));
  expect((await redis.zrange(keys(shard).inflight, 0, '-1')).sort()).toEqual([...model.flying.keys()].sort());
  const task = await redis.hgetall(keys(shard).task);
  const tasks = Object.entries(task).filter(([id]) => !id.startsWith('moved:'));
  const payloads = [...model.due].flatMap(([id, { payload }]) => (payload === '' ? [] : [[id, payload] as const]));
  const tokens = [...model.flying].map(([id, { token }]) => [id, token] as const);
  expect(Object.fromEntries(tasks)).toEqual(Object.fromEntries([...payloads, ...tokens]));
  // What was noted of a schedule in flight belongs to a schedule.
  const noted = Object.keys(task).filter((id) => id.startsWith('moved:'));
  for (const id of noted) expect(parseScheduleEntry(id.slice('moved:'.length))).not.toBeNull();
}

it('a queue does what its model does, whatever is done to it', async () => {
  let shard = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      shard += 1;
      await open.ready(shard);
      const startMs = await open.nowMs();
      const { announcedAtMs } = await open.queue.horizons(shard);
      const model = new Model(announcedAtMs);
      for (const one of steps) await apply(one, model, shard, startMs);
      await expectSame(model, shard);
    }),
    { seed: 7_117, numRuns: 150 },
  );
});
