// Where to put work for a host that is at its limit: back into the queue, spread over the time that the host will need, so that it
// neither holds slots nor is claimed again and again.

import type { HostLimiter } from '../delivery/host-limiter.js';

const MIN_DEFERRAL_MS = 50;
const MAX_DEFERRAL_MS = 30_000;
/** What a delivery is taken to last before one has ended. */
const FIRST_MEAN_MS = 100;
/** Weight of the latest duration in the running mean. */
const WEIGHT = 0.1;
const MAX_HOSTS = 5_000;

interface Pace {
  meanMs: number;
  /** When the next deferred entry may come back. */
  nextAtMs: number;
}

export class Deferrals {
  readonly #limiter: Pick<HostLimiter, 'running' | 'quietMs'>;
  readonly #hosts = new Map<string, Pace>();

  constructor(limiter: Pick<HostLimiter, 'running' | 'quietMs'>) {
    this.#limiter = limiter;
  }

  /** Learns how long a delivery to a host took. */
  observe(host: string, durationMs: number): void {
    const pace = this.#hosts.get(host);
    if (pace !== undefined) pace.meanMs += (durationMs - pace.meanMs) * WEIGHT;
  }

  /**
   * When an entry for this host should come back: after those that were deferred before it. A host that lets no call end is expected to
   * take as long again as it has been silent, whatever it took before.
   */
  backAtMs(host: string, nowMs: number): number {
    const pace = this.#paceOf(host);
    const earliestMs = nowMs + MIN_DEFERRAL_MS;
    const atMs = Math.min(Math.max(pace.nextAtMs, earliestMs), nowMs + MAX_DEFERRAL_MS);
    const durationMs = Math.max(pace.meanMs, this.#limiter.quietMs(host));
    pace.nextAtMs = atMs + durationMs / Math.max(1, this.#limiter.running(host));
    return Math.ceil(atMs);
  }

  #paceOf(host: string): Pace {
    const known = this.#hosts.get(host);
    if (known !== undefined) return known;
    if (this.#hosts.size >= MAX_HOSTS) this.#hosts.clear();
    const pace = { meanMs: FIRST_MEAN_MS, nextAtMs: 0 };
    this.#hosts.set(host, pace);
    return pace;
  }
}
