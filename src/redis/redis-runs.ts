// Which run of Redis answers: a process, and the history of data that it stands for. Another run may have forgotten what it was told last.

import calculateSlot from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { nodeKey } from './connect.js';
import { redisError } from './script.js';

/** Tells for a key the run of the server that has it; '' when that did not answer. */
export type RunOfKey = (key: string) => string;

/** Asks each server that is connected. Throws REDIS_UNAVAILABLE when there is but one and it does not answer. */
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
    // A replica that is promoted keeps its process and begins another history.
    return ['run_id', 'master_replid']
      .map((name) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? '')
      .join('/');
  } catch (error) {
    throw redisError(error);
  }
}
