// Whether a delivery may begin now. Its tenant and, for that tenant, its host must each have a place for it; what has none goes back into
// Redis for a later time, spread over the time that the tenant or the host needs, so that it neither holds a slot nor is claimed at full speed.
//
// Hosts are counted for each tenant by itself: calls of one tenant that hang must not keep another tenant from the same host.

import { HostLimiter } from '../delivery/host-limiter.js';
import { hostOf } from '../delivery/target.js';
import { TenantLimiter } from '../delivery/tenant-limiter.js';
import type { Message } from '../domain/message.js';
import { Deferrals } from './deferral.js';
import type { ProcessTime } from '../domain/clock.js';

export interface AdmissionLimits {
  /** Places for all deliveries together: a node's slots. */
  readonly capacity: number;
  readonly perTenant: number;
  /** Most deliveries under way for one tenant to one host. */
  readonly perHost: number;
  /** Most deliveries that wait for one host with their slot in hand. */
  readonly waitingPerHost: number;
}

/** A place for one delivery. */
export interface Admitted {
  readonly kind: 'admitted';
  /** Returns the place. To be called once, when the delivery has ended. */
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
   * Takes a place, at once or after a short line for the host; or returns when the entry should come back. What needs no line gets no
   * promise: each delivery comes by here.
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
