// Chooses when the work for a host (or of a tenant) at its limit comes back. It returns to Redis, spread over the time
// that the host will need, so that it neither occupies permits nor is claimed again and again. The comments here say
// host and hold for tenants as well.

import { LRUCache } from 'lru-cache';

/** Reports on the deliveries in flight to a host. */
export interface Limiter<Key> {
  running(host: Key): number;
  /** Returns for how long none has ended, in milliseconds. */
  quietMs(host: Key): number;
}

const MIN_DEFERRAL_MS = 50;
const MAX_DEFERRAL_MS = 30_000;
/**
 * How far ahead the throughput of a host is extrapolated, in durations of a call, and at least. Entries further back
 * are checked again at about this time, whatever the throughput was when they were deferred: otherwise entries deferred
 * while calls were slow would wait long after calls are fast again.
 */
const EXTRAPOLATED_CALLS = 20;
const MIN_EXTRAPOLATED_MS = 2_000;
/** Entries further back that are checked for each call that ends. A check costs the other entries time. */
const CHECKS_PER_CALL = 2;
/** The fractional part of the golden ratio: its multiples modulo 1 are spread evenly, however many there are. */
const EVEN_STEP = 0.618_034;
/** Assumed duration of a delivery until one has ended. */
const FIRST_MEAN_MS = 100;
/** Weight of the latest duration in the running mean. */
const WEIGHT = 0.1;
const MAX_HOSTS = 5_000;

interface HostThroughput {
  meanMs: number;
  /** When the next deferred entry may come back. */
  nextAtMs: number;
  /** When the next entry that is further back may be checked. */
  checkAtMs: number;
  /** Position of the last entry beyond the extrapolated range, from 0 to 1. */
  phase: number;
}

export class Deferrals<Key extends string | number = string> {
  readonly #limiter: Limiter<Key>;
  readonly #hosts = new LRUCache<Key, HostThroughput>({ max: MAX_HOSTS });

  constructor(limiter: Limiter<Key>) {
    this.#limiter = limiter;
  }

  /** Records how long a delivery to a host took. */
  observe(host: Key, durationMs: number): void {
    const throughput = this.#hosts.get(host);
    if (throughput !== undefined) throughput.meanMs += (durationMs - throughput.meanMs) * WEIGHT;
  }

  /**
   * Returns when an entry for this host should come back: after the entries that were deferred before it, as far as the
   * throughput can be extrapolated; beyond that later, at twice the throughput. When no call to the host ends, its
   * calls are expected to take as long as none has ended, whatever they took before.
   */
  backAtMs(host: Key, nowMs: number): number {
    const throughput = this.#throughputOf(host);
    const durationMs = Math.max(throughput.meanMs, this.#limiter.quietMs(host));
    const extrapolatedMs = Math.min(Math.max(EXTRAPOLATED_CALLS * durationMs, MIN_EXTRAPOLATED_MS), MAX_DEFERRAL_MS);
    const perCallMs = durationMs / Math.max(1, this.#limiter.running(host));
    const atMs = Math.max(throughput.nextAtMs, nowMs + MIN_DEFERRAL_MS);
    if (atMs <= nowMs + extrapolatedMs) {
      throughput.nextAtMs = atMs + perCallMs;
      return Math.ceil(atMs);
    }
    throughput.phase = (throughput.phase + EVEN_STEP) % 1;
    throughput.checkAtMs = Math.max(throughput.checkAtMs, nowMs) + perCallMs / CHECKS_PER_CALL;
    const share = (1 + throughput.phase) / 2;
    const checkMs = Math.max(throughput.checkAtMs - nowMs, extrapolatedMs * share);
    return Math.ceil(nowMs + Math.min(checkMs, MAX_DEFERRAL_MS * share));
  }

  #throughputOf(host: Key): HostThroughput {
    const known = this.#hosts.get(host);
    if (known !== undefined) return known;
    const throughput = { meanMs: FIRST_MEAN_MS, nextAtMs: 0, checkAtMs: 0, phase: 0 };
    this.#hosts.set(host, throughput);
    return throughput;
  }
}
