// The forms in which the data Redis can be named, and what is said of a form that cannot be read.

import { describe, expect, it } from 'vitest';
import { parseRedisUrl } from '../../../src/redis/redis-url.js';

const open = { username: '', password: '', tls: false };

describe('the URL of the data Redis', () => {
  it.each([
    'redis://localhost',
    'redis://:secret@127.0.0.1:6379/3',
    'rediss://user:secret@redis.example:6380/0',
    'redis://h:1?family=6',
    '/run/redis.sock',
  ])('names one server, and is the client’s to read: %s', (url) => {
    expect(parseRedisUrl(url)).toEqual({ kind: 'server', url });
  });

  it.each([
    ['redis://a:7001,b:7002,c:7003?cluster=true', open],
    ['redis+cluster://a:7001,b:7002,c:7003', open],
    ['redis+cluster://:p%40ss@a:7001,b:7002,c:7003/0', { ...open, password: 'p@ss' }],
    ['rediss+cluster://me:secret@a:7001,b:7002,c:7003/', { username: 'me', password: 'secret', tls: true }],
  ])('names nodes of a Redis Cluster: %s', (url, access) => {
    const nodes = [
      { host: 'a', port: 7001 },
      { host: 'b', port: 7002 },
      { host: 'c', port: 7003 },
    ];
    expect(parseRedisUrl(url)).toEqual({ kind: 'cluster', nodes, ...access });
  });

  it('needs only one node of a cluster, and no port', () => {
    expect(parseRedisUrl('redis://redis.example?cluster=true')).toMatchObject({
      kind: 'cluster',
      nodes: [{ host: 'redis.example', port: 6379 }],
    });
  });

  it('names Sentinels, the primary they know and its database', () => {
    expect(parseRedisUrl('redis+sentinel://me:secret@a,[::1]:26380/my%20primary?db=2&sentinelPassword=s')).toEqual({
      kind: 'sentinel',
      sentinels: [
        { host: 'a', port: 26379 },
        { host: '::1', port: 26380 },
      ],
      name: 'my primary',
      db: 2,
      username: 'me',
      password: 'secret',
      tls: false,
      sentinelUsername: '',
      sentinelPassword: 's',
    });
  });

  it.each([
    ['http://localhost:6379', 'cannot be read'],
    ['localhost:6379', 'cannot be read'],
    ['redis://', 'names no server'],
    ['redis://:secret@a:1,b:2', 'names 2 servers: add ?cluster=true'],
    ['redis+cluster://:secret@a:1,,b:2', 'has "" where host:port was expected'],
    ['redis+cluster://:secret@a:99999', 'has "a:99999" where host:port was expected'],
    ['redis+cluster://:secret@a:1/2', 'has only database 0'],
    ['redis+cluster://:secret@a:1?clutser=true', 'has the option clutser'],
    ['redis://:secret@a:1,b:2?cluster=maybe', 'has cluster=maybe, expected true or false'],
    ['redis+sentinel://:secret@a:1', 'does not name the primary of the Sentinels'],
    ['redis+sentinel://:secret@a:1/name?db=x', 'has db=x, expected the number of a database'],
    ['redis+sentinel://:secret@a:1/name?cluster=true', 'expected one of them'],
    ['redis+sentinel://secret@a:1/name', 'has a user without a password'],
    ['redis+cluster://:sec%ret@a:1', 'has a "%" that starts no escape'],
  ])('is refused with its fault, and without its password: %s', (url, fault) => {
    expect(() => parseRedisUrl(url)).toThrow(fault);
    try {
      parseRedisUrl(url);
    } catch (error) {
      expect(String(error)).not.toMatch(/secret|sec%ret|\n/);
    }
  });
});
