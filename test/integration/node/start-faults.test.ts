// A node that cannot start says why in one line that names the setting, and ends with 1.

import { describe, expect, it } from 'vitest';
import { configWith } from '../../../src/config.js';
import { startError } from '../../../src/compose/start-error.js';
import { freshDatabase, freshRedis } from '../../kit/stores.js';
import { nodeProcess } from '../../kit/test-node-process.js';
import { stablePort } from '../../kit/stable-port.js';

async function lastWords(settings: Readonly<Record<string, string>>): Promise<{ said: string; code: number | null }> {
  const database = await freshDatabase();
  const { url, prefix } = freshRedis();
  const node = await nodeProcess({
    CARILLON_DATABASE_URL: database.url,
    CARILLON_REDIS_URL: url,
    CARILLON_REDIS_PREFIX: prefix.replace(/:$/, ''),
    ...settings,
  });
  try {
    await expect(node.start()).rejects.toThrow(/ended before it was ready/);
    const fatal = node.log.filter(({ level }) => level >= 60);
    expect(fatal).toHaveLength(1);
    return { said: fatal[0]!.msg, code: node.lives[0]!.exitCode };
  } finally {
    await node.stop();
    await database.drop();
  }
}

describe('a node that cannot start', () => {
  it('names the database that is not there', async () => {
    const port = await stablePort();
    const { said, code } = await lastWords({ CARILLON_DATABASE_URL: `postgres://u:secret@127.0.0.1:${port}/x` });
    expect(said).toBe(
      `CARILLON_DATABASE_URL: PostgreSQL at 127.0.0.1:${port} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
    expect(code).toBe(1);
  });

  it('names the Redis that is not there', async () => {
    const port = await stablePort();
    const { said, code } = await lastWords({ CARILLON_REDIS_URL: `redis://:secret@127.0.0.1:${port}` });
    expect(said).toContain(`CARILLON_REDIS_URL: Redis at 127.0.0.1:${port} cannot be reached: `);
    expect(said).not.toContain('secret');
    expect(code).toBe(1);
  });

  it('names the URL whose scheme is wrong', async () => {
    const { said, code } = await lastWords({ CARILLON_DATABASE_URL: 'mysql://u:secret@127.0.0.1/x' });
    expect(said).toMatch(/^configuration: CARILLON_DATABASE_URL cannot be read, expected postgres:\/\//);
    expect(said).not.toContain('secret');
    expect(code).toBe(1);
  });

  // Issue 11, A3.
  it('names the bodies that its heap has no room for', async () => {
    const { said, code } = await lastWords({ CARILLON_BODIES_MAX_BYTES: String(8_192 * 2 ** 20) });
    expect(said).toMatch(/^CARILLON_BODIES_MAX_BYTES is 8589934592, expected at most \d+, half of this process's heap/);
    expect(code).toBe(1);
  });
});

describe('what a start can fail by', () => {
  const config = configWith({ CARILLON_PORT: 7117, CARILLON_REDIS_URL: 'redis://:secret@127.0.0.1:6379' });
  const withCode = (code: string, message = 'no'): Error => Object.assign(new Error(message), { code });

  it.each([
    ['EADDRINUSE', /^CARILLON_HOST and CARILLON_PORT are 127.0.0.1 and 7117: another program listens there$/],
    ['28P01', /^CARILLON_DATABASE_URL: PostgreSQL refuses: no$/],
    ['3D000', /^CARILLON_DATABASE_URL: PostgreSQL refuses: no$/],
    ['REDIS_UNAVAILABLE', /^CARILLON_REDIS_URL: Redis at 127.0.0.1:6379 cannot be reached: no$/],
  ])('has a line for %s', (code, expected) => {
    expect(startError(withCode(code), config)).toMatch(expected);
  });

  it('is shown whole where no setting explains it', () => {
    expect(startError(new Error('a bug'), config)).toBeNull();
    expect(startError(withCode('23505'), config)).toBeNull();
  });
});
