// Tokens of tenants and of administrators: kept as hashes only, with an optional expiry and the time of their last use.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { RandomBytes } from '../../domain/clock.js';
import { CarillonError } from '../../domain/errors.js';
import type { Database, Queryable } from '../database.js';

/** Who a token belongs to. */
export type TokenHolder =
  { readonly role: 'tenant'; readonly tenantId: number } | { readonly role: 'admin'; readonly tenantId: null };

export const ADMINISTRATORS: TokenHolder = { role: 'admin', tenantId: null };

export interface KnownToken {
  readonly holder: TokenHolder;
  /** Null: never. */
  readonly expiresAtMs: number | null;
  readonly lastUsedAtMs: number | null;
}

/** A token as it is listed: never its text. */
export interface TokenInfo {
  /** First 16 hexadecimal digits of the SHA-256. */
  readonly id: string;
  readonly label: string;
  /** `environment`: set as CARILLON_TOKEN or CARILLON_ADMIN_TOKEN of a node. */
  readonly source: 'created' | 'environment';
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly lastUsedAtMs: number | null;
}

export interface NewToken {
  readonly label: string;
  /** Null: never. */
  readonly expiresAtMs: number | null;
}

/** The time of a token's last use is recorded to this. */
export const TOKEN_USE_EVERY_MS = 60_000;
const SECRET_BYTES = 24;

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The token with this hash, or null. One look-up by the hash, and a comparison of it in constant time. */
export async function findToken(table: Queryable, hash: Buffer): Promise<KnownToken | null> {
  const [row] = await table.run('select-token', { hash });
  if (row?.hash.length !== hash.length || !timingSafeEqual(row.hash, hash)) return null;
  const holder: TokenHolder = row.tenant_id === null ? ADMINISTRATORS : { role: 'tenant', tenantId: row.tenant_id };
  return { holder, expiresAtMs: row.expires_at, lastUsedAtMs: row.last_used_at };
}

/** Records that a token was used; writes nothing where that was done within the last minute. */
export async function recordTokenUse(table: Queryable, hash: Buffer, nowMs: number): Promise<void> {
  await table.run('record-token-use', { hash, nowMs });
}

/** A new token; its text is given once, here. Throws LIMIT_EXCEEDED when its owner has `tokensMax`. */
export async function createToken(
  table: Queryable,
  owner: TokenHolder,
  { label, expiresAtMs }: NewToken,
  { tokensMax, random }: { readonly tokensMax: number; readonly random: RandomBytes },
): Promise<{ token: string; id: string }> {
  const token = `carillon_${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`;
  const hash = tokenHash(token);
  const { tenantId, role } = owner;
  const inserted = await table.run('insert-token', { hash, tenantId, role, label, expiresAtMs, tokensMax });
  if (inserted.length > 0) return { token, id: tokenId(hash) };
  throw new CarillonError(
    'LIMIT_EXCEEDED',
    `there are ${tokensMax} tokens already, the most that one owner may have (CARILLON_TOKENS_MAX): revoke one first`,
  );
}

export async function listTokens(table: Queryable, { tenantId }: TokenHolder): Promise<TokenInfo[]> {
  const rows = await table.run('select-tokens', { tenantId });
  return rows.map((row) => ({
    id: tokenId(row.hash),
    label: row.label,
    source: row.source,
    createdAtMs: row.created_at,
    expiresAtMs: row.expires_at,
    lastUsedAtMs: row.last_used_at,
  }));
}

/**
 * Revokes a token; nodes forget it within CARILLON_TOKEN_CACHE_MS. Throws NOT_FOUND, and CONFLICT for the last token of an administrator that
 * has not expired.
 */
export async function revokeToken(database: Database, owner: TokenHolder, id: string, nowMs: number): Promise<void> {
  await database.transaction(async (connection) => {
    if (owner.role === 'admin') {
      const rows = await connection.run('lock-admin-tokens');
      const valid = rows.filter((row) => row.expires_at === null || row.expires_at > nowMs);
      if (valid.length === 1 && valid[0] !== undefined && tokenId(valid[0].hash) === id) throw lastAdminToken();
    }
    const deleted = await connection.run('delete-token', { tenantId: owner.tenantId, id });
    if (deleted.length === 0) throw new CarillonError('NOT_FOUND', 'there is no token with this id');
  });
}

/**
 * Makes `token` the environment's one token of its owner, and revokes those of earlier starts; with null just that. Returns how many were
 * revoked. Any number of nodes may do it at once: the last one's stays. Throws CONFLICT when somebody else has the token.
 */
export async function setEnvironmentToken(
  connection: Queryable,
  owner: TokenHolder,
  token: string | null,
): Promise<number> {
  await connection.run('lock-environment-tokens');
  const hash = token === null ? null : tokenHash(token);
  const revoked = await connection.run('delete-environment-tokens', { tenantId: owner.tenantId, keptHash: hash });
  if (hash === null) return revoked.length;
  const known = await connection.run('insert-environment-token', { hash, tenantId: owner.tenantId, role: owner.role });
  if (known.length > 0) return revoked.length;
  throw new CarillonError(
    'CONFLICT',
    `the configured ${owner.role} token belongs to somebody else already; choose another`,
  );
}

/** Sets the administrator's token of the environment; see `setEnvironmentToken`. */
export async function setEnvironmentAdminToken(database: Database, token: string | null): Promise<number> {
  return database.transaction((connection) => setEnvironmentToken(connection, ADMINISTRATORS, token));
}

function tokenId(hash: Buffer): string {
  return hash.toString('hex').slice(0, 16);
}

function lastAdminToken(): CarillonError {
  return new CarillonError(
    'CONFLICT',
    "this is the last valid administrator's token, without which nobody could administer the cluster: create another one first",
  );
}
