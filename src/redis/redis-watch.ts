// Notices that a server of the data Redis became unavailable, came back, or was replaced, so that what it says is believed again only after every
// shard was fenced anew.
//
// One server, also behind Sentinels: its connection closes, and is ready again. A Redis Cluster: any master's connection closes, a slot is
// answered for by another master than before (a redirection, or the map of slots says so). Both are said at once, before any command is
// answered by whoever took over: it may be a replica that did not hear of the last moments.

import { Cluster, type Redis } from 'ioredis';
import { connectMasters, mastersAreReady, SLOTS } from './connect.js';
import type { Cancel, ProcessTime } from '../domain/clock.js';

export interface RedisWatchEvents {
  /** A server went away or was replaced: what Redis says from now on may be older than what it was told. Must not wait or fail. */
  readonly onUnavailable: () => void;
  /** Every server is there; what one of them forgot, the fences say. When it fails it is called again. */
  readonly onBack: () => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

const AGAIN_MS = 500;
/** A cluster whose slots move one by one is back at most once in this time. */
const CLUSTER_PAUSE_MS = 250;
/** So often in a row may nobody of a cluster know its slots; then it is looked for anew, by the names in its URL. */
const LOST_AFTER = 20;

/** Watches a client that is connected. Gives what ends the watch. */
export function watchRedis(redis: Redis | Cluster, time: ProcessTime, events: RedisWatchEvents): () => void {
  const watch = new Watch(redis, time, events);
  watch.begin();
  return () => watch.end();
}

class Watch {
  readonly #redis: Redis | Cluster;
  readonly #events: RedisWatchEvents;
  /** Where each slot was when it was last looked at. */
  #placement = '';
  #isUnavailable = false;
  #isChecking = false;
  readonly #time: ProcessTime;
  #cancelCheck: Cancel | null = null;
  #failedRefreshes = 0;
  #ended = false;

  constructor(redis: Redis | Cluster, time: ProcessTime, events: RedisWatchEvents) {
    this.#redis = redis;
    this.#time = time;
    this.#events = events;
  }

  begin(): void {
    const redis = this.#redis;
    if (redis instanceof Cluster) this.#listenToCluster(redis);
    redis.on('close', () => this.#unavailable());
    redis.on('ready', () => void this.#check());
  }

  end(): void {
    this.#ended = true;
    this.#cancelCheck?.();
  }

  #listenToCluster(cluster: Cluster): void {
    this.#placement = placementOf(cluster);
    const follow = (node: Redis): void => {
      node.on('close', () => {
        // A replica is asked nothing.
        if (node.options.readOnly !== true) this.#unavailable();
      });
      node.on('ready', () => void this.#check());
    };
    for (const node of cluster.nodes()) follow(node);
    cluster.on('+node', follow);
    cluster.on('moved', () => this.#unavailable());
    cluster.on('refresh', () => {
      const placement = placementOf(cluster);
      if (placement === this.#placement) return;
      this.#placement = placement;
      this.#unavailable();
    });
  }

  #unavailable(): void {
    if (this.#ended || this.#isUnavailable) return;
    this.#isUnavailable = true;
    this.#events.onUnavailable();
    if (this.#redis instanceof Cluster) this.#checkLater(CLUSTER_PAUSE_MS);
  }

  #checkLater(afterMs: number): void {
    if (this.#cancelCheck !== null || this.#ended) return;
    this.#cancelCheck = this.#time.after(afterMs, () => {
      this.#cancelCheck = null;
      void this.#check();
    });
  }

  /** Whether all is well again; if not, and nothing will say so, it is looked at again. */
  async #check(): Promise<void> {
    if (!this.#isUnavailable || this.#isChecking || this.#ended) return;
    this.#isChecking = true;
    try {
      if (await this.#isReady()) await this.#back();
    } catch (error) {
      this.#isUnavailable = true;
      this.#events.onFailure(error);
      this.#checkLater(AGAIN_MS);
    } finally {
      this.#isChecking = false;
      if (this.#isStillUnavailable() && this.#redis instanceof Cluster) this.#checkLater(CLUSTER_PAUSE_MS);
      // It was ready in between, while nobody listened.
      else if (this.#isStillUnavailable() && this.#redis.status === 'ready') this.#checkLater(AGAIN_MS);
    }
  }

  async #isReady(): Promise<boolean> {
    const redis = this.#redis;
    if (!(redis instanceof Cluster)) return redis.status === 'ready';
    if (redis.status !== 'ready') return false;
    this.#failedRefreshes = (await refreshSlots(redis)) ? 0 : this.#failedRefreshes + 1;
    if (this.#failedRefreshes === LOST_AFTER) {
      this.#failedRefreshes = 0;
      redis.disconnect(true);
      return false;
    }
    connectMasters(redis);
    return mastersAreReady(redis);
  }

  async #back(): Promise<void> {
    this.#isUnavailable = false;
    await this.#events.onBack();
    // It went away meanwhile: what was believed again is not to be believed.
    if (this.#isStillUnavailable()) this.#events.onUnavailable();
  }

  #isStillUnavailable(): boolean {
    return this.#isUnavailable;
  }
}

/** Whether anybody could be asked. */
function refreshSlots(cluster: Cluster): Promise<boolean> {
  return new Promise((resolve) => {
    cluster.refreshSlotsCache((error) => resolve(error === null || error === undefined));
  });
}

/** Who serves which slots, as the client knows it: runs of slots and their masters. */
function placementOf(cluster: Cluster): string {
  const runs: string[] = [];
  let last: string | undefined;
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const master = cluster.slots[slot]?.[0] ?? '';
    if (master !== last) runs.push(`${slot} ${master}`);
    last = master;
  }
  return runs.join(', ');
}
