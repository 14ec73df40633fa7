/** PostgreSQL and Redis servers of our own on this machine, for `npm start`, the tests and the benchmarks. */
export { startPostgres } from './local-postgres.js';
export { startRedis } from './local-redis.js';
export { childrenOf } from '../system/processes.js';
export type { LocalStore } from '../system/server-process.js';
