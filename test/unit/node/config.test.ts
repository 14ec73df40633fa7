// The settings of a node: read once, judged whole, frozen, with a text for each fault.

import { describe, expect, it } from 'vitest';
import {
  type Config,
  configWith,
  lockServerUrls,
  trustedProxies,
  readConfig,
  SETTINGS,
  type SettingName,
} from '../../../src/config.js';

function problemsOf(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    expect(error).toMatchObject({ name: 'CarillonError', code: 'INVALID_REQUEST' });
    return (error as Error).message;
  }
  return '';
}

const names = Object.keys(SETTINGS) as SettingName[];

describe('settings', () => {
  it('have a name with the prefix and its unit, a default within bounds, and a sentence', () => {
    for (const name of names) {
      const setting = SETTINGS[name];
      expect(name).toMatch(/^CARILLON_[A-Z]+(?:_[A-Z]+)*$/);
      expect(setting.about, name).toMatch(/^[A-Z].*\.$/);
      if (setting.kind !== 'integer') continue;
      expect(setting.default, name).toBeGreaterThanOrEqual(setting.min);
      expect(setting.default, name).toBeLessThanOrEqual(setting.max);
    }
  });

  it('that are not given have their defaults, which fit each other', () => {
    const config = readConfig({});
    for (const name of names) expect(config[name], name).toBe(SETTINGS[name].default);
    expect(configWith({})).toEqual(config);
  });

  it('that are empty count as not given', () => {
    expect(readConfig({ CARILLON_PORT: '', CARILLON_TOKEN: '' })).toEqual(readConfig({}));
  });

  it('are frozen', () => {
    const config = readConfig({}) as { CARILLON_PORT: number };
    expect(() => (config.CARILLON_PORT = 1)).toThrow(TypeError);
  });

  it('that are none of ours are none of our business', () => {
    expect(readConfig({ PATH: '/bin', CARILLONS: '1', CARILLON_TEST_LOG: 'info', CARILLON_BENCH_X: '1' })).toEqual(
      readConfig({}),
    );
  });
});

describe('a value', () => {
  it('is read by its kind', () => {
    const config = readConfig({
      CARILLON_PORT: '8123',
      CARILLON_LOG_LEVEL: 'warn',
      CARILLON_ALLOW_PRIVATE_DESTINATIONS: 'TRUE',
      CARILLON_HOME: '/srv/carillon',
      CARILLON_REDIS_URL: 'redis://:secret@127.0.0.1:6379/2',
    });
    expect(config).toMatchObject({
      CARILLON_PORT: 8_123,
      CARILLON_LOG_LEVEL: 'warn',
      CARILLON_ALLOW_PRIVATE_DESTINATIONS: true,
      CARILLON_HOME: '/srv/carillon',
      CARILLON_REDIS_URL: 'redis://:secret@127.0.0.1:6379/2',
    });
  });

  it.each(['1', 'true', 'yes', 'on'])('"%s" is true for a flag', (text) => {
    expect(readConfig({ CARILLON_ALLOW_PRIVATE_DESTINATIONS: text }).CARILLON_ALLOW_PRIVATE_DESTINATIONS).toBe(true);
  });

  it.each(['0', 'false', 'no', 'off'])('"%s" is false for a flag', (text) => {
    expect(readConfig({ CARILLON_ALLOW_PRIVATE_DESTINATIONS: text }).CARILLON_ALLOW_PRIVATE_DESTINATIONS).toBe(false);
  });

  it.each([
    ['CARILLON_PORT', '70000', 'whole number from 0 to 65535'],
    ['CARILLON_PORT', '-1', 'whole number from 0 to 65535'],
    ['CARILLON_PORT', '1.5', 'whole number'],
    ['CARILLON_SHARDS', 'many', 'whole number from 1 to 4096'],
    ['CARILLON_ALLOW_PRIVATE_DESTINATIONS', 'maybe', 'true or false'],
    ['CARILLON_LOG_LEVEL', 'loud', 'one of debug, info, warn, error, silent'],
  ])('%s=%s is refused with what was expected', (name, value, expected) => {
    const text = problemsOf({ [name]: value });
    expect(text).toContain(`${name} is "${value}"`);
    expect(text).toContain(expected);
  });
});

describe('faults', () => {
  it('are told all at once', () => {
    const text = problemsOf({
      CARILLON_PORT: 'x',
      CARILLON_SHARDS: '0',
      CARILLON_LOG_LEVEL: 'loud',
      CARILLON_PROT: '1',
    });
    for (const name of ['CARILLON_PORT', 'CARILLON_SHARDS', 'CARILLON_LOG_LEVEL', 'CARILLON_PROT']) {
      expect(text).toContain(name);
    }
  });

  it('of a name come with the nearest known one', () => {
    expect(problemsOf({ CARILLON_PROT: '1' })).toContain('CARILLON_PROT is not a setting; did you mean CARILLON_PORT?');
    expect(problemsOf({ CARILLON_REDIS_URI: 'x' })).toContain('did you mean CARILLON_REDIS_URL?');
  });

  it.each<[string, Partial<Config>]>([
    ['CARILLON_TOUCH_MS', { CARILLON_TOUCH_MS: 8_000, CARILLON_VISIBILITY_MS: 15_000 }],
    [
      'CARILLON_IMMEDIATE_MS',
      { CARILLON_IMMEDIATE_MS: 900_000, CARILLON_HORIZON_MS: 600_000, CARILLON_PROMOTE_EVERY_MS: 1_000 },
    ],
    ['CARILLON_PROMOTE_EVERY_MS', { CARILLON_PROMOTE_EVERY_MS: 43_200_000, CARILLON_HORIZON_MS: 43_200_000 }],
    ['CARILLON_TIMEOUT_MS', { CARILLON_TIMEOUT_MS: 60_000, CARILLON_TIMEOUT_MAX_MS: 30_000 }],
    ['CARILLON_RETRIES', { CARILLON_RETRIES: 10, CARILLON_RETRIES_MAX: 5 }],
    ['CARILLON_BODY_MAX_BYTES', { CARILLON_BODY_MAX_BYTES: 2_048, CARILLON_BATCH_MAX_BYTES: 1_024 }],
  ])('in how settings fit each other are told: %s', (name, changes) => {
    const environment = Object.fromEntries(Object.entries(changes).map(([setting, value]) => [setting, String(value)]));
    expect(problemsOf(environment)).toContain(name);
    expect(() => configWith(changes)).toThrow(name);
  });

  it('of texts are told too: short tokens, odd prefixes, two lock servers', () => {
    expect(problemsOf({ CARILLON_TOKEN: 'short' })).toContain('at least 16 characters');
    expect(problemsOf({ CARILLON_ADMIN_TOKEN: 'short' })).toContain('CARILLON_ADMIN_TOKEN');
    expect(problemsOf({ CARILLON_REDIS_PREFIX: 'a b' })).toContain('CARILLON_REDIS_PREFIX');
    expect(problemsOf({ CARILLON_LOCK_REDIS_URLS: 'redis://a, redis://b' })).toContain('has 2 servers');
  });

  it('of load balancers name the one that is no address and no network', () => {
    expect(problemsOf({ CARILLON_TRUSTED_PROXIES: '10.0.0.0/8, balancer' })).toContain(
      '"balancer", expected addresses',
    );
    expect(problemsOf({ CARILLON_TRUSTED_PROXIES: '10.0.0.0/33' })).toContain('"10.0.0.0/33"');
    expect(trustedProxies(configWith({ CARILLON_TRUSTED_PROXIES: '127.0.0.1, fd00::/8' }))).toHaveLength(2);
  });

  it('of the database name its form', () => {
    expect(problemsOf({ CARILLON_DATABASE_URL: 'mysql://u:secret@h/x' })).toMatch(
      /CARILLON_DATABASE_URL .*expected postgres:/,
    );
  });

  it('never show a secret', () => {
    const text = problemsOf({
      CARILLON_TOKEN: 'hush-hush',
      CARILLON_DATABASE_URL: 'postgres://u:s3cret@h/d',
      CARILLON_PORT: 'x',
    });
    expect(text).not.toContain('hush-hush');
    expect(text).not.toContain('s3cret');
  });
});

describe('lock servers', () => {
  it('are none, or as many as are named', () => {
    expect(lockServerUrls(configWith({}))).toEqual([]);
    const urls = ['redis://a:1', 'redis://b:2', 'redis://c:3'];
    expect(lockServerUrls(configWith({ CARILLON_LOCK_REDIS_URLS: ` ${urls.join(' , ')} ,` }))).toEqual(urls);
  });
});
