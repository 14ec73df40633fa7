// Keeps the deliveries under way to one destination host within a limit, so that a slow host does not take a node's whole capacity.

export interface HostLimits {
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
  /** In order of arrival; a Set, so that cancelling one of many costs nothing. */
  readonly waiting: Set<() => void>;
}

export class HostLimiter {
  private readonly hosts = new Map<string, Host>();
  private runningTotal = 0;
  private waitingTotal = 0;

  constructor(private readonly limits: HostLimits) {}

  /** Takes a place if one is free and nobody waits for it. */
  tryEnter(host: string): boolean {
    const entry = this.hosts.get(host);
    if (entry === undefined) {
      this.hosts.set(host, { running: 1, waiting: new Set() });
    } else if (entry.running < this.limits.perHost && entry.waiting.size === 0) {
      entry.running++;
    } else {
      return false;
    }
    this.runningTotal++;
    return true;
  }

  /** Takes a place, or stands in line for one, first come first served; `full` when the line is at its limit. */
  enter(host: string): HostTicket {
    if (this.tryEnter(host)) return { kind: 'run' };
    const entry = this.hosts.get(host);
    if (entry === undefined || entry.waiting.size >= this.limits.waitingPerHost) return { kind: 'full' };
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
  leave(host: string): void {
    const entry = this.hosts.get(host);
    if (entry === undefined) throw new Error(`invariant violated: left host ${host} without having entered`);
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

  /** Hosts that something runs for or waits for. */
  get hostCount(): number {
    return this.hosts.size;
  }
}
