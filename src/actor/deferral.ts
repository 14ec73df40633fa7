// Where to put work for a host that is at its limit: back into the queue, spread over the time that the host will need, so that it
// neither holds slots nor is claimed again and again.

const MIN_DEFERRAL_MS = 50;
const MAX_DEFERRAL_MS = 30_000;
/** Weight of the latest duration in the running mean. */
const WEIGHT = 0.1;
const MAX_HOSTS = 5_000;

interface Pace {
  meanMs: number;
  /** When the next deferred entry may come back. */
  nextAtMs: number;
}

export class Deferrals {
  readonly #perHost: number;
  readonly #hosts = new Map<string, Pace>();

  constructor(perHost: number) {
    this.#perHost = perHost;
  }

  /** Learns how long a delivery to a host took. */
  observe(host: string, durationMs: number): void {
    const pace = this.#hosts.get(host);
    if (pace !== undefined) pace.meanMs += (durationMs - pace.meanMs) * WEIGHT;
  }

  /** When an entry for this host should come back: after those that were deferred before it. */
  backAtMs(host: string, nowMs: number): number {
    const pace = this.#paceOf(host);
    const earliestMs = nowMs + MIN_DEFERRAL_MS;
    const atMs = Math.min(Math.max(pace.nextAtMs, earliestMs), nowMs + MAX_DEFERRAL_MS);
    pace.nextAtMs = atMs + pace.meanMs / this.#perHost;
    return Math.ceil(atMs);
  }

  #paceOf(host: string): Pace {
    const known = this.#hosts.get(host);
    if (known !== undefined) return known;
    if (this.#hosts.size >= MAX_HOSTS) this.#hosts.clear();
    const pace = { meanMs: 100, nextAtMs: 0 };
    this.#hosts.set(host, pace);
    return pace;
  }
}
