// Decides whether a delivery may start now. Its tenant and its host (counted per tenant) must both have capacity.
// Otherwise its entry goes back into Redis for a later time, spread over the time that the tenant or host needs, so
// that it neither occupies a permit of the semaphore nor is claimed again at full speed.
//
// Hosts are counted per tenant: hanging calls of one tenant must not keep another tenant from the same host.

import { HostLimiter } from '../delivery/host-limiter.js';
import { hostOf } from '../delivery/target.js';
import { TenantLimiter } from '../delivery/tenant-limiter.js';
import type { Message } from '../domain/message.js';
import { Deferrals } from './deferral.js';
import type { ProcessTime } from '../domain/clock.js';

export interface AdmissionLimits {
  /** Capacity for all deliveries together: the permits of the node's semaphore. */
  readonly capacity: number;
  readonly perTenant: number;
  /** Most deliveries in flight for one tenant to one host. */
  readonly perHost: number;
  /** Most deliveries that wait for one host while they occupy a permit. */
  readonly waitingPerHost: number;
}

/** Admits one delivery. */
export interface Admitted {
  readonly kind: 'admitted';
  /** Frees the capacity. Must be called once, when the delivery has ended. */
  readonly leave: () => void;
}

export type Admittance = Admitted | { readonly kind: 'deferred'; readonly backAtMs: number };

type Delivery = Pick<Message, 'tenantId' | 'destination'>;

export class Admission {
  readonly #tenants: TenantLimiter;
  readonly #hosts: HostLimiter;
  readonly #tenantDeferrals: Deferrals<number>;
  readonly #hostDeferrals: Deferrals;
  readonly #time: Pick<ProcessTime, 'monotonicMs'>;

  constructor(limits: AdmissionLimits, time: Pick<ProcessTime, 'monotonicMs'>) {
    this.#tenants = new TenantLimiter(limits, time);
    this.#hosts = new HostLimiter(limits, time);
    this.#tenantDeferrals = new Deferrals(this.#tenants);
    this.#hostDeferrals = new Deferrals<string>(this.#hosts);
    this.#time = time;
  }

  /**
   * Admits the delivery, at once or after a short wait for its host, or returns the time at which its entry should come
   * back. What need not wait gets no promise: every delivery passes here.
   */
  enter({ tenantId, destination }: Delivery, nowMs: number): Admittance | Promise<Admittance> {
    if (!this.#tenants.tryEnter(tenantId)) {
      return { kind: 'deferred', backAtMs: this.#tenantDeferrals.backAtMs(tenantId, nowMs) };
    }
    const host = `${tenantId} ${hostOf(destination)}`;
    const ticket = this.#hosts.enter(host);
    if (ticket.kind === 'full') {
      this.#tenants.leave(tenantId);
      return { kind: 'deferred', backAtMs: this.#hostDeferrals.backAtMs(host, nowMs) };
    }
    if (ticket.kind === 'wait') return ticket.ready.then(() => this.#admitted(tenantId, host));
    return this.#admitted(tenantId, host);
  }

  #admitted(tenantId: number, host: string): Admitted {
    const startedAtMs = this.#time.monotonicMs();
    const leave = (): void => {
      const endedAtMs = this.#time.monotonicMs();
      this.#hosts.leave(host, endedAtMs);
      this.#tenants.leave(tenantId, endedAtMs);
      this.#hostDeferrals.observe(host, endedAtMs - startedAtMs);
      this.#tenantDeferrals.observe(tenantId, endedAtMs - startedAtMs);
    };
    return { kind: 'admitted', leave };
  }
}
