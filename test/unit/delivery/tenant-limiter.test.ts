// Facts about a tenant's share of a node's places (issue 11, A4): one alone has nearly all, none has all, and whoever comes next gets one.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TenantLimiter } from '../../../src/delivery/tenant-limiter.js';
import { processTime } from '../../../src/time/process-time.js';

const CAPACITY = 200;

function fill(limiter: TenantLimiter, tenantId: number): number {
  while (limiter.tryEnter(tenantId));
  return limiter.running(tenantId);
}

it('a tenant alone has nine tenths, and each that comes then some of what is left, down to one', () => {
  const limiter = new TenantLimiter({ capacity: CAPACITY, perTenant: CAPACITY }, processTime);
  expect([1, 2, 3, 4, 5, 6, 7].map((tenant) => fill(limiter, tenant))).toEqual([180, 10, 5, 3, 1, 1, 1].slice(0, 7));
});

it('a tenant that held nearly all gets no new place while it holds more than are free', () => {
  const limiter = new TenantLimiter({ capacity: CAPACITY, perTenant: CAPACITY }, processTime);
  fill(limiter, 1);
  limiter.tryEnter(2);
  limiter.leave(1);
  expect(limiter.tryEnter(1)).toBe(false);
  expect(limiter.tryEnter(2)).toBe(true);
  limiter.leave(2);
  limiter.leave(2);
  expect(limiter.tryEnter(1)).toBe(true);
});

it('no tenant has more than its setting says', () => {
  expect(fill(new TenantLimiter({ capacity: CAPACITY, perTenant: 7 }, processTime), 1)).toBe(7);
});

it.each([
  [1, 1],
  [2, 1],
  [4, 2],
  [10, 6],
  [40, 36],
])('of %i places a tenant alone has %i', (capacity, most) => {
  expect(fill(new TenantLimiter({ capacity, perTenant: capacity }, processTime), 1)).toBe(most);
});

it('leaving without having entered is a bug that is reported', () => {
  expect(() => new TenantLimiter({ capacity: CAPACITY, perTenant: CAPACITY }, processTime).leave(1)).toThrow(
    /invariant/,
  );
});

it('leaves a place for a tenant that holds none, whatever order three greedy ones come and go in', () => {
  const step = fc.record({ tenant: fc.integer({ min: 1, max: 3 }), enters: fc.boolean() });
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 400 }), fc.array(step, { maxLength: 1_000 }), (capacity, steps) => {
      const limiter = new TenantLimiter({ capacity, perTenant: capacity }, processTime);
      for (const { tenant, enters } of steps) {
        if (enters) limiter.tryEnter(tenant);
        else if (limiter.running(tenant) > 0) limiter.leave(tenant);
      }
      const total = [1, 2, 3].reduce((sum, tenant) => sum + limiter.running(tenant), 0);
      return total < capacity && limiter.tryEnter(4);
    }),
    { seed: 20_260_308, numRuns: 300 },
  );
});
