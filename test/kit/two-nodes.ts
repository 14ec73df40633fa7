/** Two nodes on the same stores: one owns all shards, and the other reaches Redis by a path that can be cut. */
import { Redis } from 'ioredis';
import { TcpPath } from '../../scripts/chaos/tcp-path.js';
import { startTestNode, type TestNode } from './node.js';

export interface TwoNodes {
  /** Serves alone at first, so that it owns the shards. */
  readonly owner: TestNode;
  readonly remote: TestNode;
  /** Between `remote` and Redis. */
  readonly path: TcpPath;
  /** For looking into Redis. */
  readonly client: Redis;
  stop(): Promise<void>;
}

export async function startTwoNodes(): Promise<TwoNodes> {
  const owner = await startTestNode();
  const redis = new URL(owner.config.CARILLON_REDIS_URL);
  const path = await TcpPath.open(Number(redis.port));
  redis.port = String(path.port);
  redis.hostname = '127.0.0.1';
  const remote = await startTestNode({
    CARILLON_DATABASE_URL: owner.config.CARILLON_DATABASE_URL,
    CARILLON_REDIS_PREFIX: owner.config.CARILLON_REDIS_PREFIX,
    CARILLON_REDIS_URL: redis.href,
    CARILLON_JOIN_GRACE_MS: 60_000,
  });
  const client = new Redis(owner.config.CARILLON_REDIS_URL);
  const stop = async (): Promise<void> => {
    client.disconnect();
    await remote.stop();
    await owner.stop();
    path.close();
  };
  return { owner, remote, path, client, stop };
}
