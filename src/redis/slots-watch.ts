// Notices which slots of a Redis Cluster are unavailable, and when they are served again: a master that fails affects
// only its own slots.
//
// Slots become suspect when the connection to their master closes, and when another master answers for them (after a
// redirection, or by the map of slots). This is reported at once, before the new master answers any command: it may be
// a replica that did not receive the last writes. The slots are available again when the connection to the master in
// the map is ready.

import type { Cluster, Redis } from 'ioredis';
import type { Cancel, ProcessTime } from '../domain/clock.js';
import { connectMasters, nodeKey } from './connect.js';
import type { RedisWatchEvents } from './redis-watch.js';
import { servedBy, SLOTS } from './slot-of-key.js';

const CHECK_EVERY_MS = 250;
const RETRY_MS = 500;
/** Failures in a row to read the map of slots after which the client reconnects by the names in its URL. */
const LOST_AFTER = 20;

export class SlotsWatch {
  readonly #cluster: Cluster;
  readonly #time: ProcessTime;
  readonly #events: RedisWatchEvents;
  /** The master of each slot when the map was last read. */
  #placement: readonly string[] = [];
  readonly #suspect = new Set<number>();
  #cancelCheck: Cancel | null = null;
  #isChecking = false;
  #failedRefreshes = 0;
  #hasEnded = false;

  constructor(cluster: Cluster, time: ProcessTime, events: RedisWatchEvents) {
    this.#cluster = cluster;
    this.#time = time;
    this.#events = events;
  }

  start(): void {
    const cluster = this.#cluster;
    this.#placement = placementOf(cluster);
    for (const node of cluster.nodes()) this.#follow(node);
    cluster.on('+node', (node: Redis) => this.#follow(node));
    cluster.on('moved', (slot: number) => this.#suspectServerOf(this.#placement[slot] ?? ''));
    cluster.on('refresh', () => this.#compareMap());
    cluster.on('close', () => this.#suspectSlots(() => true));
    cluster.on('ready', () => void this.#check());
  }

  stop(): void {
    this.#hasEnded = true;
    this.#cancelCheck?.();
  }

  isAvailable(key: string): boolean {
    return this.#suspect.size === 0 || !servedBy(this.#suspect)(key);
  }

  #follow(node: Redis): void {
    node.on('close', () => {
      // Nothing is read from a replica.
      if (node.options.readOnly !== true) this.#suspectServerOf(nodeKey(node));
    });
    node.on('ready', () => void this.#check());
  }

  #suspectServerOf(server: string): void {
    this.#suspectSlots((slot) => this.#placement[slot] === server);
  }

  #compareMap(): void {
    const before = this.#placement;
    this.#placement = placementOf(this.#cluster);
    this.#suspectSlots((slot) => before[slot] !== this.#placement[slot]);
  }

  #suspectSlots(isSuspect: (slot: number) => boolean): void {
    if (this.#hasEnded) return;
    const added = new Set<number>();
    for (let slot = 0; slot < SLOTS; slot += 1) if (!this.#suspect.has(slot) && isSuspect(slot)) added.add(slot);
    if (added.size === 0) return;
    for (const slot of added) this.#suspect.add(slot);
    this.#events.onUnavailable(servedBy(added));
    this.#checkLater(CHECK_EVERY_MS);
  }

  #checkLater(afterMs: number): void {
    if (this.#cancelCheck !== null || this.#hasEnded) return;
    this.#cancelCheck = this.#time.after(afterMs, () => {
      this.#cancelCheck = null;
      void this.#check();
    });
  }

  async #check(): Promise<void> {
    if (this.#suspect.size === 0 || this.#isChecking || this.#hasEnded) return;
    this.#isChecking = true;
    let retryMs = CHECK_EVERY_MS;
    try {
      const back = await this.#slotsThatAreBack();
      if (back.size > 0) {
        for (const slot of back) this.#suspect.delete(slot);
        await this.#events.onBack(servedBy(back)).catch((error: unknown) => {
          retryMs = RETRY_MS;
          this.#events.onFailure(error);
          for (const slot of back) this.#suspect.add(slot);
        });
        // They became suspect again meanwhile: data that was considered fresh in between is not.
        const stillSuspect = new Set([...back].filter((slot) => this.#suspect.has(slot)));
        if (stillSuspect.size > 0) this.#events.onUnavailable(servedBy(stillSuspect));
      }
    } finally {
      this.#isChecking = false;
      if (this.#suspect.size > 0) this.#checkLater(retryMs);
    }
  }

  /** Returns the suspect slots whose master, by the present map, is connected. */
  async #slotsThatAreBack(): Promise<Set<number>> {
    const cluster = this.#cluster;
    if (cluster.status !== 'ready') return new Set();
    this.#failedRefreshes = (await refreshMap(cluster)) ? 0 : this.#failedRefreshes + 1;
    if (this.#failedRefreshes === LOST_AFTER) {
      this.#failedRefreshes = 0;
      cluster.disconnect(true);
      return new Set();
    }
    connectMasters(cluster);
    const ready = new Set(cluster.nodes('master').flatMap((node) => (node.status === 'ready' ? nodeKey(node) : [])));
    return new Set([...this.#suspect].filter((slot) => ready.has(cluster.slots[slot]?.[0] ?? '')));
  }
}

/** Reads the map of slots. Resolves with whether any node answered. */
function refreshMap(cluster: Cluster): Promise<boolean> {
  return new Promise((resolve) => {
    cluster.refreshSlotsCache((error) => resolve(error === null || error === undefined));
  });
}

function placementOf(cluster: Cluster): string[] {
  return Array.from({ length: SLOTS }, (_, slot) => cluster.slots[slot]?.[0] ?? '');
}
