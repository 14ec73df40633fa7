// Where a node's figures are read when somebody asks for them.

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
  const { holder, locks, semaphore: slots, recorder, redis, enqueuer: offers, sweeper, clocks } = parts;
  metrics.watch({
    inFlight: () => holder.inFlight,
    freeSlots: () => slots.free,
    ownedShards: () => holder.owned().length,
    leaseAgeMs: () => locks.oldestMs,
    isUp: (store) => (store === 'table' ? recorder.isAvailable : redis.status === 'ready'),
    enqueuer: () => offers.backlog,
    clockDifferenceMs: () => clocks.differenceMs,
    sweepBehindMs: (sweep) => sweeper.behindMs(sweep),
    recorderBacklog: (kind) => recorder.backlog(kind),
  });
}

/** How many shards have an owner that is alive, as far as this node knows: what the last heartbeat read, and what it took since. */
export function servedShards(membership: Pick<Membership, 'view'>, holder: Pick<ShardHolder, 'owned'>): number {
  const { members, owners } = membership.view ?? { members: [], owners: [] };
  const alive = new Set(members.map(({ id }) => id));
  const owned = new Set(holder.owned());
  owners.forEach((owner, shard) => {
    if (owner !== null && alive.has(owner)) owned.add(shard);
  });
  return owned.size;
}
