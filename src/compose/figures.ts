// Reads the levels of a node for its metrics.

import type { Semaphore } from '../actor/semaphore.js';
import type { Sweeper } from '../actor/sweeper.js';
import type { Membership } from '../membership/membership.js';
import type { ShardHolder } from '../membership/shard-holder.js';
import type { Locks } from '../membership/shard-lock-ranges.js';
import type { Enqueuer } from '../redis/enqueuer.js';
import type { ClockCheck } from '../postgres/clock-check.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import type { NodeMetrics } from '../telemetry/metrics.js';

export function watchLevels(
  metrics: NodeMetrics,
  parts: {
    holder: Pick<ShardHolder, 'owned' | 'inFlight'>;
    locks: Pick<Locks, 'oldestMs'>;
    semaphore: Pick<Semaphore, 'free'>;
    recorder: Pick<Recorder, 'isAvailable' | 'backlog'>;
    redis: { readonly status: string };
    enqueuer: Pick<Enqueuer, 'backlog'>;
    sweeper: Pick<Sweeper, 'behindMs'>;
    clocks: Pick<ClockCheck, 'differenceMs'>;
  },
): void {
  const { holder, locks, semaphore, recorder, redis, enqueuer, sweeper, clocks } = parts;
  metrics.watch({
    inFlight: () => holder.inFlight,
    freeSlots: () => semaphore.free,
    ownedShards: () => holder.owned().length,
    leaseAgeMs: () => locks.oldestMs,
    isUp: (store) => (store === 'table' ? recorder.isAvailable : redis.status === 'ready'),
    enqueuer: () => enqueuer.backlog,
    clockDifferenceMs: () => clocks.differenceMs,
    sweepBehindMs: (sweep) => sweeper.behindMs(sweep),
    recorderBacklog: (kind) => recorder.backlog(kind),
  });
}

/**
 * Returns how many shards have an owner that is alive, as far as this node knows: by its last heartbeat, and the shards
 * it acquired since.
 */
export function servedShards(membership: Pick<Membership, 'view'>, holder: Pick<ShardHolder, 'owned'>): number {
  const { members, owners } = membership.view ?? { members: [], owners: [] };
  const alive = new Set(members.map(({ id }) => id));
  const owned = new Set(holder.owned());
  owners.forEach((owner, shard) => {
    if (owner !== null && alive.has(owner)) owned.add(shard);
  });
  return owned.size;
}
