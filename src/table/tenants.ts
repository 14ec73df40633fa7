// Tenants, their tokens (kept as hashes only) and their signing keys.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Chance } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import type { Database, Queryable } from './database.js';

export interface Tenant {
  readonly id: number;
  readonly name: string;
  readonly createdAtMs: number;
}

/** Receivers accept a signature by either key; deliveries are signed with the current one. */
export interface SigningKeys {
  readonly current: string;
  readonly next: string;
}

/** Who a token belongs to. */
export type TokenHolder =
  { readonly role: 'tenant'; readonly tenantId: number } | { readonly role: 'admin'; readonly tenantId: null };

/** A token as it is listed: never its text. */
export interface TokenInfo {
  /** First 16 hexadecimal digits of the SHA-256. */
  readonly id: string;
  readonly label: string;
  readonly createdAtMs: number;
}

/** Not "." and "..": in the path of a URL those are steps and no names. */
const TENANT_NAME = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,64}$/;
const SECRET_BYTES = 24;

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Whose token it is, or null. One look-up by the hash, and a comparison of it in constant time. */
export async function findToken(table: Queryable, hash: Buffer): Promise<TokenHolder | null> {
  const [row] = await table.run<{ hash: Buffer; tenant_id: number | null }>('select-token', [hash]);
  if (row?.hash.length !== hash.length || !timingSafeEqual(row.hash, hash)) return null;
  return row.tenant_id === null ? { role: 'admin', tenantId: null } : { role: 'tenant', tenantId: row.tenant_id };
}

export interface EnsuredTenant {
  readonly name: string;
  /** Made sure of; other tokens of the tenant stay. */
  readonly token: string;
  /** Used only when the tenant has no keys yet; null takes a random one. */
  readonly currentKey: string | null;
  readonly nextKey: string | null;
}

/** Makes sure at boot that a tenant exists and knows the token. Any number of nodes may do it at once. */
export async function ensureTenant(database: Database, tenant: EnsuredTenant, chance: Chance): Promise<Tenant> {
  return database.transaction(async (connection) => {
    await connection.run('insert-tenant', [tenant.name]);
    const ensured = await tenantNamed(connection, tenant.name);
    await connection.run('insert-signing-keys', [
      ensured.id,
      tenant.currentKey ?? newSigningKey(chance),
      tenant.nextKey ?? newSigningKey(chance),
    ]);
    await ensureToken(connection, tenant.token, { role: 'tenant', tenantId: ensured.id });
    return ensured;
  });
}

/** Makes sure at boot that the administrator's token is known. */
export async function ensureAdminToken(database: Database, token: string): Promise<void> {
  await ensureToken(database, token, { role: 'admin', tenantId: null });
}

/** A new tenant with random signing keys and no token. Throws INVALID_REQUEST for its name, CONFLICT when it exists. */
export async function createTenant(database: Database, name: string, chance: Chance): Promise<Tenant> {
  if (!TENANT_NAME.test(name)) {
    throw new CarillonError(
      'INVALID_REQUEST',
      `name is ${JSON.stringify(name.slice(0, 80))}, expected 1 to 64 letters, digits, "-", "_" or ".", and neither "." nor ".."`,
    );
  }
  return database.transaction(async (connection) => {
    const [row] = await connection.run<TenantRow>('insert-tenant', [name]);
    if (row === undefined) throw new CarillonError('CONFLICT', `the tenant "${name}" exists already`);
    await connection.run('insert-signing-keys', [row.id, newSigningKey(chance), newSigningKey(chance)]);
    return tenantFromRow(row);
  });
}

export async function listTenants(table: Queryable): Promise<Tenant[]> {
  return (await table.run<TenantRow>('select-tenants')).map(tenantFromRow);
}

/** A new token of a tenant. Its text is given once, here. Throws NOT_FOUND. */
export async function createToken(
  database: Database,
  tenantName: string,
  label: string,
  chance: Chance,
): Promise<{ token: string; id: string }> {
  const tenant = await tenantNamed(database, tenantName);
  const token = `carillon_${secret(chance)}`;
  const hash = tokenHash(token);
  await database.run('insert-token', [hash, tenant.id, 'tenant', label]);
  return { token, id: tokenId(hash) };
}

/** Throws NOT_FOUND when there is no such tenant. */
export async function listTokens(table: Queryable, tenantName: string): Promise<TokenInfo[]> {
  const tenant = await tenantNamed(table, tenantName);
  const rows = await table.run<{ hash: Buffer; label: string; created_at: number }>('select-tokens', [tenant.id]);
  return rows.map((row) => ({ id: tokenId(row.hash), label: row.label, createdAtMs: row.created_at }));
}

/** Nodes forget a revoked token within CARILLON_TOKEN_CACHE_MS. Throws NOT_FOUND when there is no such tenant or token. */
export async function revokeToken(table: Queryable, tenantName: string, id: string): Promise<void> {
  const tenant = await tenantNamed(table, tenantName);
  const deleted = await table.run('delete-token', [tenant.id, id]);
  if (deleted.length === 0)
    throw new CarillonError('NOT_FOUND', `the tenant "${tenantName}" has no token with this id`);
}

/** Throws NOT_FOUND when there is no such tenant. */
export async function getSigningKeys(table: Queryable, tenantId: number): Promise<SigningKeys> {
  const [row] = await table.run<SigningKeys>('select-signing-keys', [tenantId]);
  if (row === undefined) throw noKeys(tenantId);
  return row;
}

/** Current becomes what next was, next becomes new. Throws NOT_FOUND when there is no such tenant. */
export async function rotateSigningKeys(table: Queryable, tenantId: number, chance: Chance): Promise<SigningKeys> {
  const [row] = await table.run<SigningKeys>('rotate-signing-keys', [tenantId, newSigningKey(chance)]);
  if (row === undefined) throw noKeys(tenantId);
  return row;
}

interface TenantRow {
  readonly id: number;
  readonly name: string;
  readonly created_at: number;
}

function tenantFromRow(row: TenantRow): Tenant {
  return { id: row.id, name: row.name, createdAtMs: row.created_at };
}

/** Throws NOT_FOUND when there is no such tenant. */
export async function tenantNamed(table: Queryable, name: string): Promise<Tenant> {
  const [row] = await table.run<TenantRow>('select-tenant', [name]);
  if (row !== undefined) return tenantFromRow(row);
  throw new CarillonError('NOT_FOUND', `there is no tenant ${JSON.stringify(name.slice(0, 80))}`);
}

async function ensureToken(table: Queryable, token: string, holder: TokenHolder): Promise<void> {
  const hash = tokenHash(token);
  await table.run('insert-token', [hash, holder.tenantId, holder.role, 'from the configuration']);
  const known = await findToken(table, hash);
  if (known?.role === holder.role && known.tenantId === holder.tenantId) return;
  throw new CarillonError(
    'CONFLICT',
    `the configured ${holder.role} token belongs to somebody else already; choose another`,
  );
}

function tokenId(hash: Buffer): string {
  return hash.toString('hex').slice(0, 16);
}

function newSigningKey(chance: Chance): string {
  return `sig_${secret(chance)}`;
}

function secret(chance: Chance): string {
  return Buffer.from(chance(SECRET_BYTES)).toString('base64url');
}

function noKeys(tenantId: number): CarillonError {
  return new CarillonError('NOT_FOUND', `there are no signing keys of tenant ${tenantId}`);
}
