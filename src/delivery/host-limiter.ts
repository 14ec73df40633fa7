// Limits the deliveries in flight to one destination host, so that slow hosts do not take a node's whole capacity.
//
// In addition to the fixed limit, a host may have no more deliveries, running or waiting, than there are free permits.
// A single host gets half of the permits, two greedy hosts a half and a quarter; however many there are, some permits
// stay free, and a host without deliveries gets one. Slow hosts need not be distinguished from fast ones, which would
// be too late when many hang at once.

import type { ProcessTime } from '../domain/clock.js';

export interface HostLimits {
  /** Capacity for all hosts together: the permits of the node's semaphore. */
  readonly capacity: number;
  /** Most deliveries in flight to one host. */
  readonly perHost: number;
  /** Most deliveries that wait for one host. */
  readonly waitingPerHost: number;
}

export type HostTicket =
  | { readonly kind: 'run' }
  | {
      readonly kind: 'wait';
      /**
       * Resolves when the caller may deliver; it must call `leave` afterwards. Never rejects; stays pending after
       * `cancel`.
       */
      readonly ready: Promise<void>;
      /** Stops waiting. Returns false when the permit was granted before: then the caller must call `leave`. */
      readonly cancel: () => boolean;
    }
  | { readonly kind: 'full' };

interface Host {
  running: number;
  /** When a delivery to it ended last, or the first one started. */
  lastEndAtMs: number;
  /** In order of arrival; a Set, so that canceling one of many is cheap. */
  readonly waiting: Set<() => void>;
}

export class HostLimiter {
  private readonly hosts = new Map<string, Host>();
  private runningTotal = 0;
  private waitingTotal = 0;

  constructor(
    private readonly limits: HostLimits,
    private readonly time: Pick<ProcessTime, 'monotonicMs'>,
  ) {}

  /** Admits a delivery if capacity is free and nobody waits for it. */
  tryEnter(host: string): boolean {
    const entry = this.hosts.get(host);
    if (!this.hasShare(entry)) return false;
    if (entry === undefined) {
      this.hosts.set(host, { running: 1, lastEndAtMs: this.time.monotonicMs(), waiting: new Set() });
    } else if (entry.running < this.limits.perHost && entry.waiting.size === 0) {
      entry.running++;
    } else {
      return false;
    }
    this.runningTotal++;
    return true;
  }

  /**
   * Admits a delivery, or lets it wait, first come first served; `full` when the waiting line or the host's share is at
   * its limit.
   */
  enter(host: string): HostTicket {
    if (this.tryEnter(host)) return { kind: 'run' };
    const entry = this.hosts.get(host);
    if (entry === undefined || !this.hasShare(entry)) return { kind: 'full' };
    if (entry.waiting.size >= this.limits.waitingPerHost) return { kind: 'full' };
    let grant: () => void = () => undefined;
    const ready = new Promise<void>((resolve) => (grant = resolve));
    entry.waiting.add(grant);
    this.waitingTotal++;
    const cancel = (): boolean => {
      const waited = entry.waiting.delete(grant);
      if (waited) this.waitingTotal--;
      return waited;
    };
    return { kind: 'wait', ready, cancel };
  }

  /**
   * Frees the capacity of a delivery for the first one that waits. Drops hosts without running or waiting deliveries.
   */
  leave(host: string, nowMs = this.time.monotonicMs()): void {
    const entry = this.hosts.get(host);
    if (entry === undefined) throw new Error(`invariant violated: left host ${host} without having entered`);
    entry.lastEndAtMs = nowMs;
    const next = entry.waiting.values().next();
    if (next.done !== true) {
      entry.waiting.delete(next.value);
      this.waitingTotal--;
      next.value();
      return;
    }
    entry.running--;
    this.runningTotal--;
    if (entry.running === 0) this.hosts.delete(host);
  }

  /** Returns the deliveries in flight, to one host or to all. */
  running(host?: string): number {
    return host === undefined ? this.runningTotal : (this.hosts.get(host)?.running ?? 0);
  }

  /** Returns the waiting deliveries, for one host or for all. */
  waiting(host?: string): number {
    return host === undefined ? this.waitingTotal : (this.hosts.get(host)?.waiting.size ?? 0);
  }

  /**
   * Returns for how long no delivery to a busy host has ended, in milliseconds: each one takes at least this long.
   * Returns 0 for an idle one.
   */
  quietMs(host: string): number {
    const entry = this.hosts.get(host);
    return entry === undefined ? 0 : this.time.monotonicMs() - entry.lastEndAtMs;
  }

  private hasShare(entry: Host | undefined): boolean {
    const used = entry === undefined ? 0 : entry.running + entry.waiting.size;
    return used === 0 || used < this.limits.capacity - this.runningTotal - this.waitingTotal;
  }

  /** Hosts with running or waiting deliveries. */
  get hostCount(): number {
    return this.hosts.size;
  }
}
