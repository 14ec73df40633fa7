// Facts about the limit per destination host: never exceeded, first come first served, nothing left behind.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HostLimiter, type HostTicket } from '../../../src/delivery/host-limiter.js';
import { processTime } from '../../../src/time/process-time.js';

const waitTicket = (ticket: HostTicket): Extract<HostTicket, { kind: 'wait' }> => {
  if (ticket.kind !== 'wait') throw new Error(`expected to wait, got ${ticket.kind}`);
  return ticket;
};

it('runs up to the limit, then waits up to the limit, then is full; other hosts are not held up', () => {
  const limiter = new HostLimiter({ capacity: 1_000, perHost: 2, waitingPerHost: 1 }, processTime);
  expect([1, 2, 3, 4].map(() => limiter.enter('a').kind)).toEqual(['run', 'run', 'wait', 'full']);
  expect(limiter.tryEnter('a')).toBe(false);
  expect(limiter.enter('b').kind).toBe('run');
  expect([limiter.running('a'), limiter.waiting('a'), limiter.running(), limiter.waiting(), limiter.hostCount]).toEqual(
    [2, 1, 3, 1, 2],
  );
});

it('places go to those in line in order of arrival, and newcomers do not overtake', async () => {
  const limiter = new HostLimiter({ capacity: 1_000, perHost: 1, waitingPerHost: 10 }, processTime);
  limiter.enter('a');
  const order: number[] = [];
  const done = [1, 2, 3].map(async (n) => {
    await waitTicket(limiter.enter('a')).ready;
    order.push(n);
    limiter.leave('a');
  });
  expect(limiter.tryEnter('a')).toBe(false);
  limiter.leave('a');
  await Promise.all(done);
  expect(order).toEqual([1, 2, 3]);
  expect(limiter.hostCount).toBe(0);
});

it('one who cancels gives up the place in line; after the grant it is too late', async () => {
  const limiter = new HostLimiter({ capacity: 1_000, perHost: 1, waitingPerHost: 2 }, processTime);
  limiter.enter('a');
  const first = waitTicket(limiter.enter('a'));
  const second = waitTicket(limiter.enter('a'));
  expect(first.cancel()).toBe(true);
  expect(first.cancel()).toBe(false);
  limiter.leave('a');
  await second.ready;
  expect(second.cancel()).toBe(false);
  expect(limiter.running('a')).toBe(1);
  limiter.leave('a');
  expect([limiter.hostCount, limiter.running(), limiter.waiting()]).toEqual([0, 0, 0]);
});

it('leaving without having entered is a bug that is told', () => {
  expect(() => new HostLimiter({ capacity: 1_000, perHost: 1, waitingPerHost: 1 }, processTime).leave('a')).toThrow(
    /invariant/,
  );
});

it('holds its limits and forgets empty hosts whatever the order of events', () => {
  const step = fc.record({
    host: fc.constantFrom('a', 'b', 'c'),
    action: fc.constantFrom('enter', 'enter', 'leave', 'cancel'),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const limiter = new HostLimiter({ capacity: 1_000, perHost: 2, waitingPerHost: 3 }, processTime);
      const running = { a: 0, b: 0, c: 0 };
      const waiting: { host: 'a' | 'b' | 'c'; cancel: () => boolean }[] = [];
      for (const { host: name, action, pick } of steps) {
        const host = name;
        if (action === 'enter') {
          const ticket = limiter.enter(host);
          if (ticket.kind === 'run') running[host]++;
          if (ticket.kind === 'wait') waiting.push({ host, cancel: ticket.cancel });
        } else if (action === 'leave' && running[host] > 0) {
          limiter.leave(host);
          const next = waiting.findIndex((one) => one.host === host);
          if (next === -1) running[host]--;
          else waiting.splice(next, 1);
        } else if (action === 'cancel' && waiting.length > 0) {
          const [gone] = waiting.splice(pick % waiting.length, 1);
          if (gone?.cancel() !== true) return false;
        }
        for (const each of ['a', 'b', 'c'] as const) {
          if (limiter.running(each) !== running[each] || running[each] > 2) return false;
          const inLine = waiting.filter((one) => one.host === each).length;
          if (limiter.waiting(each) !== inLine || inLine > 3) return false;
        }
        if (limiter.hostCount !== Object.values(running).filter((count) => count > 0).length) return false;
      }
      return limiter.running() === running.a + running.b + running.c && limiter.waiting() === waiting.length;
    }),
    { seed: 20_260_308, numRuns: 300 },
  );
});

it('a host holds no more places than are free, so that one alone gets half, and each more some of what is left', () => {
  const limiter = new HostLimiter({ capacity: 200, perHost: 150, waitingPerHost: 50 }, processTime);
  const held = ['a', 'b', 'c', 'd'].map((host) => {
    while (limiter.enter(host).kind !== 'full');
    return limiter.running(host) + limiter.waiting(host);
  });
  expect(held).toEqual([100, 50, 25, 13]);
  // What runs goes on; nothing new begins for the host that has more than is free.
  limiter.leave('a');
  expect(limiter.enter('a').kind).toBe('full');
});

it('leaves places free for a host that holds none, however many hosts are greedy and in whatever order they come', () => {
  const course = fc.record({
    hosts: fc.integer({ min: 1, max: 6 }),
    capacity: fc.integer({ min: 64, max: 400 }),
    perHost: fc.integer({ min: 1, max: 400 }),
    order: fc.array(fc.nat(), { minLength: 1, maxLength: 2_000 }),
  });
  fc.assert(
    fc.property(course, ({ hosts, capacity, perHost, order }) => {
      const limiter = new HostLimiter({ capacity, perHost, waitingPerHost: Math.ceil(perHost / 4) }, processTime);
      for (const pick of order) limiter.enter(`greedy ${pick % hosts}`);
      const free = capacity - limiter.running() - limiter.waiting();
      return free >= Math.floor(capacity / 2 ** hosts) && limiter.enter('another').kind === 'run';
    }),
    { seed: 20_260_308, numRuns: 300 },
  );
});

it('tells for how long no delivery to a busy host has ended', () => {
  let nowMs = 1_000;
  const limiter = new HostLimiter({ capacity: 10, perHost: 5, waitingPerHost: 1 }, { monotonicMs: () => nowMs });
  expect(limiter.quietMs('a')).toBe(0);
  limiter.enter('a');
  nowMs += 300;
  limiter.enter('a');
  expect(limiter.quietMs('a')).toBe(300);
  limiter.leave('a');
  nowMs += 200;
  expect(limiter.quietMs('a')).toBe(200);
  limiter.leave('a');
  expect(limiter.quietMs('a')).toBe(0);
});
