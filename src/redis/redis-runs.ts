// Identifies the run of Redis that answers: a process and its history of data. Another run may lack the last writes.

import calculateSlot from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { nodeKey } from './connect.js';
import { redisError } from './script.js';

/** Returns the run of the server that has a key; '' when that server did not answer. */
export type RunOfKey = (key: string) => string;

/** Reads the run of each connected server. Throws REDIS_UNAVAILABLE when there is only one and it does not answer. */
export async function askRuns(redis: Redis | Cluster): Promise<RunOfKey> {
  if (!(redis instanceof Cluster)) {
    const run = await askRun(redis);
    return () => run;
  }
  const runs = new Map<string, string>();
  const masters = redis.nodes('master').filter(({ status }) => status === 'ready');
  await Promise.allSettled(masters.map(async (master) => runs.set(nodeKey(master), await askRun(master))));
  return (key) => runs.get(redis.slots[calculateSlot(key)]?.[0] ?? '') ?? '';
}

async function askRun(server: Redis): Promise<string> {
  try {
    const info = await server.info('server', 'replication');
    // A promoted replica keeps its process and starts another history.
    return ['run_id', 'master_replid']
      .map((name) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? '')
      .join('/');
  } catch (error) {
    throw redisError(error);
  }
}
