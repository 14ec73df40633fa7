// Limits the deliveries in flight for one tenant to a share, so that no tenant takes a node's whole capacity.
//
// A single tenant may use nearly all permits. Some stay in reserve, because hanging calls cannot be revoked and the
// next tenant needs permits at once. While other tenants use permits, a tenant may use no more than are free (like a
// host in host-limiter.ts), so shares shrink as permits become scarce, and a tenant without deliveries gets one.

import type { ProcessTime } from '../domain/clock.js';

export interface TenantLimits {
  /** Capacity for all tenants together: the permits of the node's semaphore. */
  readonly capacity: number;
  /** Most deliveries in flight for one tenant. */
  readonly perTenant: number;
}

interface Tenant {
  running: number;
  /** When a delivery of the tenant ended last, or the first one started. */
  lastEndAtMs: number;
}

/** A tenth of the permits stays free of any one tenant, and of few permits at least some. */
const RESERVED_SHARE = 0.1;
const MIN_RESERVED = 4;

export class TenantLimiter {
  readonly #capacity: number;
  readonly #perTenant: number;
  /** How many permits a tenant may use while no other tenant uses any. */
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

  /** Admits a delivery. Returns false when the tenant's share is used up. */
  tryEnter(tenantId: number): boolean {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) {
      this.#tenants.set(tenantId, { running: 1, lastEndAtMs: this.#time.monotonicMs() });
    } else if (this.#hasShare(tenant.running)) {
      tenant.running += 1;
    } else {
      return false;
    }
    this.#total += 1;
    return true;
  }

  /** Frees the capacity of a delivery. Drops a tenant without deliveries. */
  leave(tenantId: number, nowMs = this.#time.monotonicMs()): void {
    const tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) throw new Error(`invariant violated: left tenant ${tenantId} without having entered`);
    tenant.lastEndAtMs = nowMs;
    tenant.running -= 1;
    this.#total -= 1;
    if (tenant.running === 0) this.#tenants.delete(tenantId);
  }

  /** Returns the deliveries in flight for a tenant. */
  running(tenantId: number): number {
    return this.#tenants.get(tenantId)?.running ?? 0;
  }

  /** Returns for how long no delivery of a busy tenant has ended, in milliseconds; 0 for an idle one. */
  quietMs(tenantId: number): number {
    const tenant = this.#tenants.get(tenantId);
    return tenant === undefined ? 0 : this.#time.monotonicMs() - tenant.lastEndAtMs;
  }

  #hasShare(used: number): boolean {
    if (used === this.#total) return used < this.#alone;
    return used < this.#perTenant && used < this.#capacity - this.#total;
  }
}
