// The tenant and the administrator that the settings name, made sure of when a node starts.

import type { Config } from '../config.js';
import type { Chance } from '../domain/clock.js';
import type { Database } from '../table/database.js';
import { ensureAdminToken, ensureTenant } from '../table/tenants.js';

const DEFAULT_TENANT = 'default';

export async function ensureAccess(database: Database, config: Config, chance: Chance): Promise<void> {
  const orNull = (text: string): string | null => (text === '' ? null : text);
  if (config.CARILLON_TOKEN !== '') {
    const tenant = {
      name: DEFAULT_TENANT,
      token: config.CARILLON_TOKEN,
      currentKey: orNull(config.CARILLON_CURRENT_SIGNING_KEY),
      nextKey: orNull(config.CARILLON_NEXT_SIGNING_KEY),
    };
    await ensureTenant(database, tenant, chance);
  }
  if (config.CARILLON_ADMIN_TOKEN !== '') await ensureAdminToken(database, config.CARILLON_ADMIN_TOKEN);
}
