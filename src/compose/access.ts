// Ensures the tenant and the administrator of the settings when a node starts; revokes the tokens of earlier starts.

import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { RandomBytes } from '../domain/clock.js';
import type { Database } from '../postgres/database.js';
import { dropEnvironmentToken, ensureTenant } from '../postgres/tenants/tenants.js';
import { setEnvironmentAdminToken } from '../postgres/tenants/tokens.js';

const DEFAULT_TENANT = 'default';

/**
 * Ensures the default tenant and the tokens of the settings. The node that was started last decides which tokens of the
 * environment are valid: in a rolling restart with new ones the old ones become invalid when the first node starts with
 * the new ones, also on nodes that still run with the old ones.
 */
export async function ensureAccess(
  database: Database,
  config: Config,
  random: RandomBytes,
  log: Logger,
): Promise<void> {
  const report = (setting: 'CARILLON_TOKEN' | 'CARILLON_ADMIN_TOKEN', revoked: number): void => {
    if (revoked === 0) return;
    const why = config[setting] === '' ? 'is no longer set' : 'differs from an earlier start';
    log.warn({ revoked }, `${setting} ${why}: the token of that start was revoked`);
  };
  report('CARILLON_TOKEN', await ensureDefaultTenant(database, config, random));
  const adminToken = orNull(config.CARILLON_ADMIN_TOKEN);
  report('CARILLON_ADMIN_TOKEN', await setEnvironmentAdminToken(database, adminToken));
}

async function ensureDefaultTenant(database: Database, config: Config, random: RandomBytes): Promise<number> {
  const token = orNull(config.CARILLON_TOKEN);
  if (token === null) return dropEnvironmentToken(database, DEFAULT_TENANT);
  const currentKey = orNull(config.CARILLON_CURRENT_SIGNING_KEY);
  const nextKey = orNull(config.CARILLON_NEXT_SIGNING_KEY);
  const tenant = { name: DEFAULT_TENANT, token, currentKey, nextKey };
  return (await ensureTenant(database, tenant, random)).revokedTokens;
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}
