/** PostgreSQL and Redis servers of our own on this machine, for `npm start`, the tests and the benchmarks. */
export { startPostgres, type PostgresOptions } from './local-postgres.js';
export { startRedis, type RedisOptions } from './local-redis.js';
export { childrenOf } from '../system/processes.js';
export type { LocalStore } from '../system/server-process.js';
