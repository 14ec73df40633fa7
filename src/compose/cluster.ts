// Builds a node's membership of the cluster: the channels, the holder of its shards and the membership.

import { Cluster } from 'ioredis';
import { Fencing } from '../membership/fencing.js';
import { Membership } from '../membership/membership.js';
import { Roster } from '../membership/roster.js';
import { ShardHolder } from '../membership/shard-holder.js';
import { type Locks, ShardLockRanges } from '../membership/shard-lock-ranges.js';
import { ShardLocks } from '../membership/shard-locks.js';
import type { Sweeper } from '../actor/sweeper.js';
import type { Database } from '../postgres/database.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import {
  endAbandoned,
  grantEpochs,
  supersededShards,
  supersedeEpochs,
  renewEpochs,
} from '../postgres/shards/epochs.js';
import { Channels } from '../redis/channels.js';
import type { ShardQueue } from '../redis/shard-queue.js';
import { shardKeys } from '../redis/keys.js';
import { slotRangeOf, tagsOfSlotRanges } from '../redis/slot-of-key.js';
import { Subscriptions } from '../redis/subscriptions.js';
import type { FencingOfHolder, NodePorts } from './ports.js';
import { ABANDONED_AFTER_MS, DEATHS_REMEMBERED_MS } from './times.js';

export interface NodeCluster {
  readonly locks: Locks;
  readonly subscriptions: Subscriptions;
  readonly channels: Channels;
  readonly holder: ShardHolder;
  readonly membership: Membership;
  /** Wakes a shard's actor here, or publishes to the node that owns it. */
  readonly wake: (shard: number, dueAtMs: number) => void;
}

interface ClusterParts {
  readonly queue: ShardQueue;
  readonly sweeper: Sweeper;
  readonly recorder: Pick<Recorder, 'isAvailable' | 'probe'>;
  /** Whether the Redis server of a shard is available, as far as is known. */
  readonly isRedisAvailable: (shard: number) => boolean;
}

export function makeCluster(ports: NodePorts, parts: ClusterParts): NodeCluster {
  const { config, redis, time, log, replace = {} } = ports;
  const prefix = config.CARILLON_REDIS_PREFIX;
  const subscriptions = new Subscriptions(ports.subscriber);
  const channels = new Channels(redis, subscriptions, prefix);
  const locks = makeLocks(ports);
  const fencing = makeFencing(ports, parts.queue);
  const holder = new ShardHolder({
    fencing: replace.fencing?.(fencing) ?? fencing,
    sweeper: parts.sweeper,
    channels,
    time,
    log,
    settings: {
      shards: config.CARILLON_SHARDS,
      extendVisibilityMs: config.CARILLON_TOUCH_MS,
      drainMs: config.CARILLON_DRAIN_MS,
      handoverMs: config.CARILLON_HANDOVER_MS,
    },
  });
  const membership = makeMembership(ports, { ...parts, locks, holder, channels });
  const wake = (shard: number, dueAtMs: number): void => {
    if (!holder.wake(shard, dueAtMs)) channels.wake(shard, dueAtMs);
  };
  return { locks, subscriptions, channels, holder, membership, wake };
}

/** Ranges of slots whose shards have their locks together: one script each per heartbeat. Masters share few ranges. */
const LOCK_RANGES = 16;

function makeLocks({ config, lockServers, time }: NodePorts): Locks {
  const prefix = config.CARILLON_REDIS_PREFIX;
  const locksOf = (tag: string): ShardLocks =>
    new ShardLocks(lockServers, { keyPrefix: `${prefix}:{${tag}}:`, leaseMs: config.CARILLON_LEASE_MS }, time);
  if (!(lockServers[0] instanceof Cluster)) return locksOf('locks');
  return new ShardLockRanges(tagsOfSlotRanges('locks', LOCK_RANGES).map(locksOf), (shard) =>
    slotRangeOf(shardKeys(prefix, shard).state, LOCK_RANGES),
  );
}

function makeFencing({ database, identity, log, replace = {} }: NodePorts, queue: ShardQueue): FencingOfHolder {
  const authority = epochAuthority(database);
  return new Fencing({ authority: replace.authority?.(authority) ?? authority, queue, node: identity, log });
}

function epochAuthority(database: Database): ConstructorParameters<typeof Fencing>[0]['authority'] {
  return {
    grant: (node, shards) => grantEpochs(database, node, shards),
    renew: (node, epochs) => renewEpochs(database, node, epochs),
    supersede: (node, stored) => supersedeEpochs(database, node, stored),
    superseded: (epochs) => supersededShards(database, epochs),
    endAbandoned: (shards) => endAbandoned(database, shards, ABANDONED_AFTER_MS),
  };
}

function makeMembership(
  ports: NodePorts,
  parts: Pick<ClusterParts, 'recorder' | 'isRedisAvailable'> & Pick<NodeCluster, 'locks' | 'holder' | 'channels'>,
): Membership {
  const { config, redis, identity, time, log, hooks, replace = {} } = ports;
  const { recorder, isRedisAvailable, locks, holder, channels } = parts;
  const roster = new Roster(redis, {
    prefix: config.CARILLON_REDIS_PREFIX,
    shards: config.CARILLON_SHARDS,
    leaseMs: config.CARILLON_LEASE_MS,
    deathsRememberedMs: DEATHS_REMEMBERED_MS,
  });
  return new Membership({
    locks: replace.locks?.(locks, holder) ?? locks,
    roster: replace.roster?.(roster) ?? roster,
    holder,
    channels,
    time,
    isPostgresAvailable: () => recorder.isAvailable,
    isRedisAvailable,
    probePostgres: (quietMs, withinMs) => recorder.probe(quietMs, withinMs),
    log,
    events: hooks.membership,
    settings: {
      id: identity,
      name: config.CARILLON_NODE_NAME,
      leaseMs: config.CARILLON_LEASE_MS,
      heartbeatMs: config.CARILLON_HEARTBEAT_MS,
      joinGraceMs: config.CARILLON_JOIN_GRACE_MS,
      handoversMax: config.CARILLON_HANDOVERS_MAX,
    },
  });
}
