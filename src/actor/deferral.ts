// Where to put work for a host (or of a tenant) that is at its limit: back into Redis, spread over the time that the host will need, so
// that it neither holds slots nor is claimed again and again. What is said of hosts here holds for tenants as well.

import { LRUCache } from 'lru-cache';

/** What is known of the deliveries under way to a host. */
export interface Limiter<Key> {
  running(host: Key): number;
  /** For how long none has ended, in milliseconds. */
  quietMs(host: Key): number;
}

const MIN_DEFERRAL_MS = 50;
const MAX_DEFERRAL_MS = 30_000;
/**
 * How far ahead a host's pace is believed, in calls' durations and at least: what is further back in line is asked again about then, whatever
 * the pace was when it was put there. Else what came while calls were slow would wait for long after they are quick again.
 */
const BELIEVED_CALLS = 20;
const MIN_BELIEVED_MS = 2_000;
/** So often, for each call that the host lets end, something that is further back in line is asked about: asking costs the others time. */
const ASKS_PER_CALL = 2;
/** Spreads numbers evenly, however many there are: the golden ratio's fraction. */
const EVEN_STEP = 0.618_034;
/** What a delivery is taken to last before one has ended. */
const FIRST_MEAN_MS = 100;
/** Weight of the latest duration in the running mean. */
const WEIGHT = 0.1;
const MAX_HOSTS = 5_000;

interface HostThroughput {
  meanMs: number;
  /** When the next deferred entry may come back. */
  nextAtMs: number;
  /** When the next entry that is further back may be asked about. */
  askAtMs: number;
  /** Where in its range the last entry was put that is beyond what is believed; from 0 to 1. */
  phase: number;
}

export class Deferrals<Key extends string | number = string> {
  readonly #limiter: Limiter<Key>;
  readonly #hosts = new LRUCache<Key, HostThroughput>({ max: MAX_HOSTS });

  constructor(limiter: Limiter<Key>) {
    this.#limiter = limiter;
  }

  /** Learns how long a delivery to a host took. */
  observe(host: Key, durationMs: number): void {
    const throughput = this.#hosts.get(host);
    if (throughput !== undefined) throughput.meanMs += (durationMs - throughput.meanMs) * WEIGHT;
  }

  /**
   * When an entry for this host should come back: after those that were deferred before it, as far as that can be told, else later, at
   * twice the host's pace. A host that lets no call end is expected to take as long again as it has been silent, whatever it took
   * before.
   */
  backAtMs(host: Key, nowMs: number): number {
    const throughput = this.#throughputOf(host);
    const durationMs = Math.max(throughput.meanMs, this.#limiter.quietMs(host));
    const believedMs = Math.min(Math.max(BELIEVED_CALLS * durationMs, MIN_BELIEVED_MS), MAX_DEFERRAL_MS);
    const perCallMs = durationMs / Math.max(1, this.#limiter.running(host));
    const atMs = Math.max(throughput.nextAtMs, nowMs + MIN_DEFERRAL_MS);
    if (atMs <= nowMs + believedMs) {
      throughput.nextAtMs = atMs + perCallMs;
      return Math.ceil(atMs);
    }
    throughput.phase = (throughput.phase + EVEN_STEP) % 1;
    throughput.askAtMs = Math.max(throughput.askAtMs, nowMs) + perCallMs / ASKS_PER_CALL;
    const share = (1 + throughput.phase) / 2;
    const askMs = Math.max(throughput.askAtMs - nowMs, believedMs * share);
    return Math.ceil(nowMs + Math.min(askMs, MAX_DEFERRAL_MS * share));
  }

  #throughputOf(host: Key): HostThroughput {
    const known = this.#hosts.get(host);
    if (known !== undefined) return known;
    const throughput = { meanMs: FIRST_MEAN_MS, nextAtMs: 0, askAtMs: 0, phase: 0 };
    this.#hosts.set(host, throughput);
    return throughput;
  }
}
