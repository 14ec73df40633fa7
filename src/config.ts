// Reads the settings of a node: environment variables with defaults and bounds; read once, checked together, frozen.

import { isIP } from 'node:net';
import { CarillonError, invariant } from './domain/errors.js';
import { nearestName } from './domain/nearest-name.js';
import { isAddressOrNetwork } from './domain/network.js';
import { type Config, type Setting, type SettingName, SETTINGS } from './settings.js';

export { type Config, type SettingName, SETTINGS } from './settings.js';

/**
 * Reads the settings from environment variables. Throws one CarillonError that names every error: unknown `CARILLON_`
 * names (with the nearest known one), values out of bounds, and settings that contradict each other.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems = unknownNames(environment);
  const values: Record<string, string | number | boolean> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting][]) {
    const given = environment[name];
    const value = given === undefined || given === '' ? setting.default : parseValue(name, setting, given, problems);
    values[name] = value;
  }
  const config = Object.freeze(values) as Config;
  if (problems.length === 0) problems.push(...relationProblems(config));
  if (problems.length > 0) throw new CarillonError('INVALID_REQUEST', `configuration: ${problems.join('; ')}`);
  return config;
}

/** A configuration of defaults with some settings changed; for tests and tools. The same relations must hold. */
export function configWith(changes: Partial<Config>): Config {
  const defaults = Object.fromEntries(Object.entries(SETTINGS).map(([name, setting]) => [name, setting.default]));
  const config = Object.freeze({ ...defaults, ...changes }) as Config;
  invariant(relationProblems(config).length === 0, relationProblems(config).join('; '));
  return config;
}

function parseValue(name: string, setting: Setting, given: string, problems: string[]): string | number | boolean {
  switch (setting.kind) {
    case 'integer': {
      const value = Number(given);
      if (Number.isInteger(value) && value >= setting.min && value <= setting.max) return value;
      problems.push(`${name} is "${given}", expected a whole number from ${setting.min} to ${setting.max}`);
      return setting.default;
    }
    case 'flag': {
      const value = given.toLowerCase();
      if (['1', 'true', 'yes', 'on'].includes(value)) return true;
      if (['0', 'false', 'no', 'off'].includes(value)) return false;
      problems.push(`${name} is "${given}", expected true or false`);
      return setting.default;
    }
    case 'choice':
      if (setting.choices.includes(given)) return given;
      problems.push(`${name} is "${given}", expected one of ${setting.choices.join(', ')}`);
      return setting.default;
    case 'text':
    case 'secret':
      return given;
  }
}

function relationProblems(config: Config): string[] {
  const problems: string[] = [];
  const require = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  require(config.CARILLON_TOUCH_MS * 2 <
    config.CARILLON_VISIBILITY_MS, 'CARILLON_TOUCH_MS must be less than half of CARILLON_VISIBILITY_MS');
  require(config.CARILLON_HEARTBEAT_MS * 3 <=
    config.CARILLON_LEASE_MS, 'CARILLON_HEARTBEAT_MS must be at most a third of CARILLON_LEASE_MS');
  require(config.CARILLON_IMMEDIATE_MS <=
    config.CARILLON_HORIZON_MS, 'CARILLON_IMMEDIATE_MS must not exceed CARILLON_HORIZON_MS');
  require(config.CARILLON_PROMOTE_EVERY_MS <
    config.CARILLON_HORIZON_MS, 'CARILLON_PROMOTE_EVERY_MS must be less than CARILLON_HORIZON_MS');
  require(config.CARILLON_TIMEOUT_MS <=
    config.CARILLON_TIMEOUT_MAX_MS, 'CARILLON_TIMEOUT_MS must not exceed CARILLON_TIMEOUT_MAX_MS');
  require(config.CARILLON_RETRIES <=
    config.CARILLON_RETRIES_MAX, 'CARILLON_RETRIES must not exceed CARILLON_RETRIES_MAX');
  require(config.CARILLON_BODY_MAX_BYTES <=
    config.CARILLON_BATCH_MAX_BYTES, 'CARILLON_BODY_MAX_BYTES must not exceed CARILLON_BATCH_MAX_BYTES');
  require(config.CARILLON_BATCH_MAX_BYTES <=
    config.CARILLON_TENANT_BODIES_MAX_BYTES, 'CARILLON_BATCH_MAX_BYTES must not exceed CARILLON_TENANT_BODIES_MAX_BYTES');
  require(config.CARILLON_TENANT_BODIES_MAX_BYTES * 8 <=
    config.CARILLON_BODIES_MAX_BYTES *
      7, 'CARILLON_TENANT_BODIES_MAX_BYTES must not exceed seven eighths of CARILLON_BODIES_MAX_BYTES');
  require(config.CARILLON_HOST_CONCURRENCY <= config.CARILLON_CONCURRENCY ||
    config.CARILLON_CONCURRENCY < 100, 'CARILLON_HOST_CONCURRENCY must not exceed CARILLON_CONCURRENCY');
  require(/^[A-Za-z0-9_.-]{1,64}$/.test(
    config.CARILLON_REDIS_PREFIX,
  ), 'CARILLON_REDIS_PREFIX must be 1 to 64 letters, digits, "_", "." or "-"');
  for (const name of ['CARILLON_TOKEN', 'CARILLON_ADMIN_TOKEN'] as const) {
    require(config[name] === '' || config[name].length >= 16, `${name} must have at least 16 characters`);
  }
  for (const proxy of trustedProxies(config)) {
    require(isAddressOrNetwork(proxy, isIP), `CARILLON_TRUSTED_PROXIES has "${proxy}", expected addresses or networks`);
  }
  require(/^(?:$|postgres(?:ql)?:\/\/.)/i.test(
    config.CARILLON_DATABASE_URL,
  ), 'CARILLON_DATABASE_URL cannot be read, expected postgres://user:password@host:port/database');
  const locks = lockServerUrls(config).length;
  require(locks === 0 || locks >= 3, `CARILLON_LOCK_REDIS_URLS has ${locks} servers, expected none or at least three`);
  return problems;
}

/** Origins that may open the admin websocket, in lower case. */
export function adminOrigins(config: Config): string[] {
  return listed(config.CARILLON_ADMIN_ORIGINS).map((origin) => origin.toLowerCase());
}

/** The addresses and networks of load balancers whose word about the caller is taken. */
export function trustedProxies(config: Config): string[] {
  return listed(config.CARILLON_TRUSTED_PROXIES);
}

function listed(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** The lock servers' URLs; empty when the data Redis serves as the one lock server. */
export function lockServerUrls(config: Config): string[] {
  return listed(config.CARILLON_LOCK_REDIS_URLS);
}

/** Names that the tests and the launcher use, not a node. */
const FOREIGN_NAME = /^CARILLON_(TEST|BENCH|CHAOS)_/;

function unknownNames(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('CARILLON_') && !FOREIGN_NAME.test(name) && !(name in SETTINGS))
    .map((name) => `${name} is not a setting; did you mean ${nearestName(name, Object.keys(SETTINGS))}?`);
}
