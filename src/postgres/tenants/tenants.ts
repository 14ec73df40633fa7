// Tenants and their signing keys.

import type { RandomBytes } from '../../domain/clock.js';
import { CarillonError } from '../../domain/errors.js';
import type { Database, Queryable, Row } from '../database.js';
import { setEnvironmentToken } from './tokens.js';

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

/** Not "." and "..": in the path of a URL those are steps and no names. */
const TENANT_NAME = /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,64}$/;
const SECRET_BYTES = 24;

export interface EnsuredTenant {
  readonly name: string;
  /** The environment's; replaces one of an earlier start. Created tokens of the tenant stay. */
  readonly token: string;
  /** Used only when the tenant has no keys yet; null takes a random one. */
  readonly currentKey: string | null;
  readonly nextKey: string | null;
}

/** Makes sure at boot that a tenant exists and knows the token. Any number of nodes may do it at once. */
export async function ensureTenant(
  database: Database,
  tenant: EnsuredTenant,
  random: RandomBytes,
): Promise<Tenant & { readonly revokedTokens: number }> {
  return database.transaction(async (connection) => {
    await connection.run('insert-tenant', { name: tenant.name });
    const ensured = await tenantNamed(connection, tenant.name);
    await connection.run('insert-signing-keys', {
      tenantId: ensured.id,
      current: tenant.currentKey ?? newSigningKey(random),
      next: tenant.nextKey ?? newSigningKey(random),
    });
    const holder = { role: 'tenant', tenantId: ensured.id } as const;
    return { ...ensured, revokedTokens: await setEnvironmentToken(connection, holder, tenant.token) };
  });
}

/** Revokes the environment's token of a tenant, where there is one. Returns how many were revoked. */
export async function dropEnvironmentToken(database: Database, name: string): Promise<number> {
  return database.transaction(async (connection) => {
    const [row] = await connection.run('select-tenant', { name });
    return row === undefined ? 0 : setEnvironmentToken(connection, { role: 'tenant', tenantId: row.id }, null);
  });
}

/** A new tenant with random signing keys and no token. Throws INVALID_REQUEST for its name, CONFLICT when it exists. */
export async function createTenant(database: Database, name: string, random: RandomBytes): Promise<Tenant> {
  if (!TENANT_NAME.test(name)) {
    throw new CarillonError(
      'INVALID_REQUEST',
      `name is ${JSON.stringify(name.slice(0, 80))}, expected 1 to 64 letters, digits, "-", "_" or ".", and neither "." nor ".."`,
    );
  }
  return database.transaction(async (connection) => {
    const [row] = await connection.run('insert-tenant', { name });
    if (row === undefined) throw new CarillonError('CONFLICT', `the tenant "${name}" exists already`);
    await connection.run('insert-signing-keys', {
      tenantId: row.id,
      current: newSigningKey(random),
      next: newSigningKey(random),
    });
    return tenantFromRow(row);
  });
}

export async function listTenants(table: Queryable): Promise<Tenant[]> {
  return (await table.run('select-tenants')).map(tenantFromRow);
}

/** Throws NOT_FOUND when there is no such tenant. */
export async function getSigningKeys(table: Queryable, tenantId: number): Promise<SigningKeys> {
  const [row] = await table.run('select-signing-keys', { tenantId });
  if (row === undefined) throw noKeys(tenantId);
  return row;
}

/** Current becomes what next was, next becomes new. Throws NOT_FOUND when there is no such tenant. */
export async function rotateSigningKeys(table: Queryable, tenantId: number, random: RandomBytes): Promise<SigningKeys> {
  const [row] = await table.run('rotate-signing-keys', { tenantId, next: newSigningKey(random) });
  if (row === undefined) throw noKeys(tenantId);
  return row;
}

function tenantFromRow(row: Row<'select-tenant'>): Tenant {
  return { id: row.id, name: row.name, createdAtMs: row.created_at };
}

/** Throws NOT_FOUND when there is no such tenant. */
export async function tenantNamed(table: Queryable, name: string): Promise<Tenant> {
  const [row] = await table.run('select-tenant', { name });
  if (row !== undefined) return tenantFromRow(row);
  throw new CarillonError('NOT_FOUND', `there is no tenant ${JSON.stringify(name.slice(0, 80))}`);
}

function newSigningKey(random: RandomBytes): string {
  return `sig_${Buffer.from(random(SECRET_BYTES)).toString('base64url')}`;
}

function noKeys(tenantId: number): CarillonError {
  return new CarillonError('NOT_FOUND', `there are no signing keys of tenant ${tenantId}`);
}
