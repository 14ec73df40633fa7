// A node's connections to PostgreSQL: a third for reads, a third for accepts, the rest for claims, fires and outcomes.
// None can use another's, so that neither many readers nor many publishers prevent a node from claiming, firing and
// recording outcomes.

import { GatheredLines } from '../membership/gathered-lines.js';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { Database } from '../postgres/database.js';
import { connectionName } from '../postgres/shards/epochs.js';
import { ReadPool } from '../postgres/reads.js';
import { transactionLimits } from './transaction-limits.js';
import type { ProcessTime } from '../domain/clock.js';

export interface DatabasePools {
  /** Claims, fires, outcomes, sweeps, epochs, maintenance. */
  readonly work: Database;
  /** Writes of the API, and its look-ups of tokens. */
  readonly accepts: Database;
  /** Reads of the API. */
  readonly reads: ReadPool;
  close(): Promise<void>;
}

/** Divides CARILLON_DATABASE_POOL; at least one connection each. */
function poolSizes(connections: number): { work: number; accepts: number; reads: number } {
  const third = Math.max(1, Math.floor(connections / 3));
  return { work: connections - 2 * third, accepts: third, reads: third };
}

export function openPools(config: Config, identity: string, time: ProcessTime, log: Logger): DatabasePools {
  const sizes = poolSizes(config.CARILLON_DATABASE_POOL);
  const url = config.CARILLON_DATABASE_URL;
  const timeoutMs = config.CARILLON_DATABASE_TIMEOUT_MS;
  // A restart of PostgreSQL breaks all connections at once.
  const broken = new GatheredLines<Error>(time, (errors) =>
    log.warn({ err: errors[0], connections: errors.length }, 'connections to PostgreSQL broke'),
  );
  const onError = (error: Error): void => broken.add(error);
  const writes = {
    time,
    url,
    timeoutMs,
    onError,
    name: connectionName(identity),
    limits: transactionLimits(config.CARILLON_LEASE_MS),
  };
  const work = new Database({ ...writes, poolSize: sizes.work });
  const accepts = new Database({ ...writes, poolSize: sizes.accepts });
  const reads = new ReadPool({
    time,
    url,
    connections: sizes.reads,
    connectMs: timeoutMs,
    budgetMs: Math.min(config.CARILLON_READ_BUDGET_MS, timeoutMs),
    tenantMax: config.CARILLON_TENANT_READS_MAX,
    waitMs: config.CARILLON_READ_WAIT_MS,
    onError,
  });
  return {
    work,
    accepts,
    reads,
    close: async () => {
      await Promise.all([work.close(), accepts.close(), reads.close()]);
    },
  };
}
