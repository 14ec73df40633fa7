// Keeps the deliveries under way for one tenant within a share, so that no tenant's work takes a node's whole capacity.
//
// A tenant that is alone may hold nearly all places. Some stay in reserve, because calls that hang cannot be taken back: whoever comes next
// needs places at once. While others hold places, a tenant may hold no more than are free (as a host, host-limiter.ts), so shares shrink as
// places become scarce, and a tenant that holds none gets one.

import type { ProcessTime } from '../domain/clock.js';

export interface TenantLimits {
  /** Places for all tenants together: a node's slots. */
  readonly capacity: number;
  /** Most deliveries under way for one tenant. */
  readonly perTenant: number;
}

interface Tenant {
  running: number;
  /** When a delivery of its ended last, or the first one began. */
  heardAtMs: number;
}

/** A tenth of the places stays free of any one tenant, and of few places some. */
const RESERVED_SHARE = 0.1;
const MIN_RESERVED = 4;

export class TenantLimiter {
  readonly #capacity: number;
  readonly #perTenant: number;
  /** What a tenant may hold while no other holds any. */
  readonly #alone: number;
  readonly #tenants = new Map<number, Tenant>();
  readonly #time: Pick<ProcessTime, 'monotonicMs'>;
  #total = 0;

  constructor({ capacity, perTenant }: TenantLimits, time: Pick<ProcessTime, 'monotonicMs'>) {
    this.#capacity = capacity;
    this.#perTenant = perTenant;
    const reserved = Math.max(Math.ceil(capacity * RESERVED_SHARE), Math.min(MIN_RESERVED, capacity >> 1));
    this.#alone = Math.min(perTenant, capacity - reserved);
    this.#time = time;
  }

  /** Takes a place. False when the tenant's share is used up. */
  tryEnter(tenantId: number): boolean {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) {
      this.#tenants.set(tenantId, { running: 1, heardAtMs: this.#time.monotonicMs() });
    } else if (this.#hasShare(tenant.running)) {
      tenant.running += 1;
    } else {
      return false;
    }
    this.#total += 1;
    return true;
  }

  /** Returns a place. A tenant that holds none is forgotten. */
  leave(tenantId: number, nowMs = this.#time.monotonicMs()): void {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) throw new Error(`invariant violated: left tenant ${tenantId} without having entered`);
    tenant.heardAtMs = nowMs;
    tenant.running -= 1;
    this.#total -= 1;
    if (tenant.running === 0) this.#tenants.delete(tenantId);
  }

  /** Deliveries under way for a tenant. */
  running(tenantId: number): number {
    return this.#tenants.get(tenantId)?.running ?? 0;
  }

  /** For how long no delivery of a busy tenant has ended, in milliseconds; 0 for an idle one. */
  quietMs(tenantId: number): number {
    const tenant = this.#tenants.get(tenantId);
    return tenant === undefined ? 0 : this.#time.monotonicMs() - tenant.heardAtMs;
  }

  #hasShare(held: number): boolean {
    if (held === this.#total) return held < this.#alone;
    return held < this.#perTenant && held < this.#capacity - this.#total;
  }
}
