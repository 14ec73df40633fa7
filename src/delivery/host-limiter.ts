// Keeps the deliveries under way to one destination host within a limit, so that slow hosts do not take a node's whole capacity.
//
// Beside the fixed limit a host may hold no more places, running or waiting, than are free. So one host alone gets half of them, each of
// two greedy ones at most a half and a quarter, and however many there are, the places become scarce but are not all gone, and a host that
// holds none gets one. Nobody has to tell slow hosts from quick ones, which would be too late for those that get stuck all at once.

import type { ProcessTime } from '../domain/clock.js';

export interface HostLimits {
  /** Places for all hosts together: a node's slots. */
  readonly capacity: number;
  /** Most deliveries under way to one host. */
  readonly perHost: number;
  /** Most deliveries that wait for one host. */
  readonly waitingPerHost: number;
}

export type HostTicket =
  | { readonly kind: 'run' }
  | {
      readonly kind: 'wait';
      /** Resolves when the place is the caller's, who must `leave` later. Never rejects; stays pending after `cancel`. */
      readonly ready: Promise<void>;
      /** Gives up waiting. False when the place was granted before: then `leave` is due. */
      readonly cancel: () => boolean;
    }
  | { readonly kind: 'full' };

interface Host {
  running: number;
  /** When a delivery to it ended last, or the first one began. */
  heardAtMs: number;
  /** In order of arrival; a Set, so that cancelling one of many costs nothing. */
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

  /** Takes a place if one is free and nobody waits for it. */
  tryEnter(host: string): boolean {
    const entry = this.hosts.get(host);
    if (!this.hasShare(entry)) return false;
    if (entry === undefined) {
      this.hosts.set(host, { running: 1, heardAtMs: this.time.monotonicMs(), waiting: new Set() });
    } else if (entry.running < this.limits.perHost && entry.waiting.size === 0) {
      entry.running++;
    } else {
      return false;
    }
    this.runningTotal++;
    return true;
  }

  /** Takes a place, or stands in line for one, first come first served; `full` when the line or the host's share is at its limit. */
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

  /** Gives a place back; it goes to the first in line. Hosts that nothing runs for or waits for are forgotten. */
  leave(host: string, nowMs = this.time.monotonicMs()): void {
    const entry = this.hosts.get(host);
    if (entry === undefined) throw new Error(`invariant violated: left host ${host} without having entered`);
    entry.heardAtMs = nowMs;
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

  /** Deliveries under way, to one host or to all. */
  running(host?: string): number {
    return host === undefined ? this.runningTotal : (this.hosts.get(host)?.running ?? 0);
  }

  /** Deliveries in line, for one host or for all. */
  waiting(host?: string): number {
    return host === undefined ? this.waitingTotal : (this.hosts.get(host)?.waiting.size ?? 0);
  }

  /** For how long no delivery to a busy host has ended, in milliseconds: each one takes at least so long. 0 for an idle one. */
  quietMs(host: string): number {
    const entry = this.hosts.get(host);
    return entry === undefined ? 0 : this.time.monotonicMs() - entry.heardAtMs;
  }

  private hasShare(entry: Host | undefined): boolean {
    const held = entry === undefined ? 0 : entry.running + entry.waiting.size;
    return held === 0 || held < this.limits.capacity - this.runningTotal - this.waitingTotal;
  }

  /** Hosts that something runs for or waits for. */
  get hostCount(): number {
    return this.hosts.size;
  }
}
