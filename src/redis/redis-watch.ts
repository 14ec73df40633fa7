// Notices that the data Redis became unavailable, became available again, or was replaced, so that its data is used
// again only after its shards were fenced again. One server, also behind Sentinels: its connection closes, and is ready
// again. A Redis Cluster: slots-watch.ts.

import { Cluster, type Redis } from 'ioredis';
import type { Cancel, ProcessTime } from '../domain/clock.js';
import { everyKey, type KeyFilter } from './slot-of-key.js';
import { SlotsWatch } from './slots-watch.js';

export interface RedisWatchEvents {
  /**
   * The server of these keys is unavailable or was replaced: its data may be older than the last writes. Must not wait
   * or fail.
   */
  readonly onUnavailable: (isConcerned: KeyFilter) => void;
  /** The server of these keys is available; the fences report what it lost. Called again when it fails. */
  readonly onBack: (isConcerned: KeyFilter) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

export interface RedisWatch {
  /** Watches the client from now on; it must be connected. */
  start(): void;
  /** Returns whether the server of a key is available, as far as is known. */
  isAvailable(key: string): boolean;
  stop(): void;
}

const RETRY_MS = 500;

export function watchRedis(redis: Redis | Cluster, time: ProcessTime, events: RedisWatchEvents): RedisWatch {
  return redis instanceof Cluster ? new SlotsWatch(redis, time, events) : new ServerWatch(redis, time, events);
}

class ServerWatch implements RedisWatch {
  readonly #redis: Redis;
  readonly #events: RedisWatchEvents;
  readonly #time: ProcessTime;
  #isUnavailable = false;
  #isChecking = false;
  #cancelCheck: Cancel | null = null;
  #hasEnded = false;

  constructor(redis: Redis, time: ProcessTime, events: RedisWatchEvents) {
    this.#redis = redis;
    this.#time = time;
    this.#events = events;
  }

  start(): void {
    this.#redis.on('close', () => this.#unavailable());
    this.#redis.on('ready', () => void this.#check());
  }

  stop(): void {
    this.#hasEnded = true;
    this.#cancelCheck?.();
  }

  /** Always true: there is no other server whose shards could be preferred. */
  isAvailable(): boolean {
    return true;
  }

  #unavailable(): void {
    if (this.#hasEnded || this.#isUnavailable) return;
    this.#isUnavailable = true;
    this.#events.onUnavailable(everyKey);
  }

  /**
   * Reports that Redis is available again. Repeats when that failed, or when Redis became unavailable again meanwhile.
   */
  async #check(): Promise<void> {
    if (!this.#isUnavailable || this.#isChecking || this.#hasEnded || this.#redis.status !== 'ready') return;
    this.#isChecking = true;
    try {
      this.#isUnavailable = false;
      await this.#events.onBack(everyKey);
      // It became unavailable meanwhile: data that was considered fresh in between is not.
      if (this.#isStillUnavailable()) this.#events.onUnavailable(everyKey);
    } catch (error) {
      this.#isUnavailable = true;
      this.#events.onFailure(error);
    } finally {
      this.#isChecking = false;
      if (this.#isStillUnavailable()) this.#checkLater();
    }
  }

  #checkLater(): void {
    if (this.#cancelCheck !== null || this.#hasEnded) return;
    this.#cancelCheck = this.#time.after(RETRY_MS, () => {
      this.#cancelCheck = null;
      void this.#check();
    });
  }

  #isStillUnavailable(): boolean {
    return this.#isUnavailable;
  }
}
