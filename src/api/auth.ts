// Authenticates callers: bearer tokens are looked up by their hash and cached briefly, in bounded number.

import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock, ProcessTime } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import type { Queryable } from '../postgres/database.js';
import {
  findToken,
  type KnownToken,
  recordTokenUse,
  TOKEN_USE_EVERY_MS,
  tokenHash,
  type TokenHolder,
} from '../postgres/tenants/tokens.js';
import { within } from '../time/waiting.js';

/** Most cached tokens, known and unknown ones separately: a flood of wrong tokens must not evict right ones. */
const TOKEN_CACHE_ENTRIES = { known: 10_000, unknown: 1_000 } as const;
const TOKEN_MAX_BYTES = 4_096;

interface Cached {
  readonly token: KnownToken | null;
  readonly untilMs: number;
}

export class Authenticator {
  readonly #known = new LRUCache<string, Cached>({ max: TOKEN_CACHE_ENTRIES.known });
  readonly #unknown = new LRUCache<string, Cached>({ max: TOKEN_CACHE_ENTRIES.unknown });
  /** Look-ups in progress: a burst with one token reads PostgreSQL once. */
  readonly #pending = new Map<string, Promise<TokenHolder | null>>();

  constructor(
    private readonly database: Queryable,
    private readonly clock: Clock,
    private readonly cacheMs: number,
  ) {}

  /**
   * Returns the owner of a token, or null when the token is unknown or expired. Returns cached results at once, without
   * a promise.
   */
  find(token: string): TokenHolder | null | Promise<TokenHolder | null> {
    if (token === '' || token.length > TOKEN_MAX_BYTES) return null;
    // Tokens are compared only by their hashes, so the duration of a look-up reveals nothing about a token's text.
    const hash = tokenHash(token);
    const key = hash.toString('base64');
    const cached = this.#known.get(key) ?? this.#unknown.get(key);
    if (cached !== undefined && cached.untilMs > this.clock.nowMs()) return this.#holderOf(cached.token);
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const lookup = this.#lookUp(hash, key).finally(() => this.#pending.delete(key));
    this.#pending.set(key, lookup);
    return lookup;
  }

  async #lookUp(hash: Buffer, key: string): Promise<TokenHolder | null> {
    const token = await findToken(this.database, hash);
    this.#known.delete(key);
    this.#unknown.delete(key);
    if (this.cacheMs > 0) {
      const cache = token === null ? this.#unknown : this.#known;
      cache.set(key, { token, untilMs: this.clock.nowMs() + this.cacheMs });
    }
    const holder = this.#holderOf(token);
    if (token !== null && holder !== null) this.#recordUse(hash, token);
    return holder;
  }

  #holderOf(token: KnownToken | null): TokenHolder | null {
    if (token === null) return null;
    return token.expiresAtMs === null || token.expiresAtMs > this.clock.nowMs() ? token.holder : null;
  }

  /** Records the use in the background; when that fails, the next look-up records it. */
  #recordUse(hash: Buffer, { lastUsedAtMs }: KnownToken): void {
    const nowMs = this.clock.nowMs();
    if (lastUsedAtMs !== null && nowMs - lastUsedAtMs < TOKEN_USE_EVERY_MS) return;
    recordTokenUse(this.database, hash, nowMs).catch(() => undefined);
  }
}

/** Returns the token of an Authorization header, or null when it is no bearer token. */
export function bearerToken(authorization: string | undefined): string | null {
  return /^bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1] ?? null;
}

/** The header that, with an administrator's token, names the tenant of a request below /v2. */
export const TENANT_HEADER = 'carillon-tenant';

/**
 * Returns the name of the tenant for which an administrator acts. Throws FORBIDDEN for anybody else, INVALID_REQUEST
 * for an invalid name.
 */
export function actsForTenant(holder: TokenHolder, header: string | string[]): string {
  if (holder.role !== 'admin') {
    throw new CarillonError('FORBIDDEN', "Carillon-Tenant takes an administrator's token; this is a tenant's");
  }
  if (typeof header === 'string' && header !== '') return header;
  throw new CarillonError('INVALID_REQUEST', 'Carillon-Tenant is empty, expected the name of a tenant');
}

export type Area = 'tenant' | 'admin';

/** How long the check of the configured token waits for PostgreSQL. */
const CONFIGURED_CHECK_MS = 1_000;

/**
 * The administrator's token in this node's configuration. It is valid also while PostgreSQL is unavailable, so that the
 * node can report that in its metrics. It is invalid once PostgreSQL reports that it was revoked (another node was
 * started with another token).
 */
export class ConfiguredAdmin {
  #isRevoked = false;

  constructor(
    private readonly configured: string,
    private readonly authenticator: Authenticator,
    private readonly time: ProcessTime,
  ) {}

  async admits(token: string): Promise<boolean> {
    if (this.configured === '' || !timingSafeEqual(tokenHash(token), tokenHash(this.configured))) return false;
    const known = await this.#look(token);
    if (known !== 'unknown') this.#isRevoked = known?.role !== 'admin';
    return !this.#isRevoked;
  }

  async #look(token: string): Promise<TokenHolder | null | 'unknown'> {
    try {
      const found = Promise.resolve(this.authenticator.find(token));
      return await within(this.time, CONFIGURED_CHECK_MS, found, () => new Error('PostgreSQL does not answer'));
    } catch {
      return 'unknown';
    }
  }
}

/**
 * Returns the token's owner if it may call this part of the API. Throws UNAUTHORIZED for an unknown token, FORBIDDEN
 * for the wrong role.
 */
export function admit(holder: TokenHolder | null, token: string | null, area: Area): TokenHolder {
  if (token === null) {
    throw new CarillonError('UNAUTHORIZED', 'no token: expected the header "Authorization: Bearer <token>"');
  }
  if (holder === null)
    throw new CarillonError('UNAUTHORIZED', 'invalid token: it is not known, was revoked or has expired');
  if (holder.role === area) return holder;
  throw new CarillonError(
    'FORBIDDEN',
    area === 'admin'
      ? "this is a tenant's token: /admin and /metrics take an administrator's token only"
      : "this is an administrator's token: /v2 takes a tenant's token, or the header Carillon-Tenant with the name of the tenant to act for",
  );
}
