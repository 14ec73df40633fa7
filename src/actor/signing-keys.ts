// Caches the tenants' current signing keys for a short time: every attempt signs with one.

import { LRUCache } from 'lru-cache';
import type { ProcessTime } from '../domain/clock.js';

const MAX_TENANTS = 10_000;

export class SigningKeyCache {
  readonly #read: (tenantId: number) => Promise<string>;
  readonly #ttlMs: number;
  readonly #time: ProcessTime;
  readonly #known = new LRUCache<number, { key: Promise<string>; untilMs: number }>({ max: MAX_TENANTS });

  /** `read` returns a tenant's current key; `ttlMs` is how long a rotation may go unnoticed. */
  constructor(read: (tenantId: number) => Promise<string>, ttlMs: number, time: ProcessTime) {
    this.#read = read;
    this.#ttlMs = ttlMs;
    this.#time = time;
  }

  current(tenantId: number): Promise<string> {
    const nowMs = this.#time.monotonicMs();
    const known = this.#known.get(tenantId);
    if (known !== undefined && known.untilMs > nowMs) return known.key;
    const key = this.#read(tenantId);
    this.#known.set(tenantId, { key, untilMs: nowMs + this.#ttlMs });
    // A failed read is not cached.
    key.catch(() => this.#known.delete(tenantId));
    return key;
  }
}
