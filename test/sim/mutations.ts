// Wrong clusters: each takes one guard away, and the simulation must notice. A check that nothing can fail proves nothing.

import { Admission } from '../../src/actor/admission.js';
import type { Mutant } from './node.js';
import type { FaultKind } from './faults.js';
import { refused } from './queue-state.js';
import type { RedisServer } from './redis-server.js';
import { EVERY_FAULT } from './faults.js';
import type { SimulationSettings } from './simulation.js';

export interface Mutation extends Omit<SimulationSettings, 'faults' | 'mutant'> {
  readonly name: string;
  readonly mutant: Mutant;
  readonly faults: readonly FaultKind[];
}

const PREFIX = 'carillon';

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'claims ignore epochs',
    faults: ['stall', 'stall', 'stall', 'freeze', 'kill', 'join'],
    mutant: {
      redis: (redis) => {
        const { claim } = redis.models;
        redis.models = {
          ...redis.models,
          claim: (server, keys, args, by) => {
            const state = server.hash(keys[3] ?? '');
            const installed = state.get('epoch');
            if (installed === undefined || refused(server, keys[3] ?? '', args[0] ?? '') !== 'STALE') {
              return claim?.(server, keys, args, by);
            }
            state.set('epoch', args[0] ?? '');
            const reply = claim?.(server, keys, args, by);
            state.set('epoch', installed);
            return reply;
          },
        };
      },
    },
  },
  {
    name: 'epochs are counted by Redis',
    faults: EVERY_FAULT,
    mutant: {
      authority: (authority, redis, process) => ({
        ...authority,
        grant: async (node, shards) => {
          // PostgreSQL hears of it, so that only the counting is wrong.
          await authority.grant(node, shards);
          return new Map(shards.map((shard) => [shard, counted(redis, shard, process)]));
        },
      }),
    },
  },
  {
    name: 'owners are not asserted again at heartbeats',
    faults: ['flush', 'join'],
    mutant: {
      redis: (redis) => {
        const { heartbeat } = redis.models;
        redis.models = {
          ...redis.models,
          heartbeat: (server, keys, args, by) => {
            const owners = server.hash(keys[2] ?? '');
            const before = new Map(owners);
            const asserted = args
              .slice(0, 4)
              .concat([...before].flatMap(([shard, id]) => (id === args[0] ? [shard] : [])));
            return heartbeat?.(server, keys, asserted, by);
          },
        };
      },
    },
  },
  {
    name: 'shards are taken as if another run of Redis had forgotten nothing',
    faults: ['failover', 'redis away', 'kill', 'join'],
    mutant: {
      redis: (redis) => {
        const { fence } = redis.models;
        redis.models = {
          ...redis.models,
          fence: (server, keys, args, by) => {
            server.hash(keys[0] ?? '').set('run', args[1] ?? '');
            return fence?.(server, keys, args, by);
          },
        };
      },
    },
  },
  {
    name: 'claims are carried out however late',
    faults: ['stall', 'stall', 'break', 'freeze'],
    mutant: {
      redis: (redis) => {
        const { claim } = redis.models;
        redis.models = {
          ...redis.models,
          claim: (server, keys, args, by) => claim?.(server, keys, [...args.slice(0, 3), 'Infinity'], by),
        };
      },
    },
  },
  {
    name: 'the end of trust is ignored',
    faults: EVERY_FAULT,
    mutant: { actorParts: (parts) => ({ ...parts, isTrusted: () => true }) },
  },
  {
    name: 'a reconnect to Redis goes unnoticed',
    faults: ['failover', 'failover', 'break', 'freeze', 'redis away'],
    mutant: { redisClient: (client) => Object.create(client, { on: { value: () => client } }) as typeof client },
  },
  {
    name: 'locks of halted actors are extended for ever',
    faults: ['join', 'freeze', 'kill', 'stop'],
    mutant: {
      locks: (locks, holder) => ({
        acquire: (shards) => locks.acquire(shards),
        extend: (freshMs) => locks.extend(freshMs),
        probe: () => locks.probe(),
        get troubleMs() {
          return locks.troubleMs;
        },
        release: () => Promise.resolve(),
        locked: () => {
          const owned = new Set(holder.owned());
          return locks.locked().filter((shard) => owned.has(shard));
        },
      }),
    },
  },
  {
    name: 'cancels are acknowledged although Redis did not confirm them',
    faults: ['cut off'],
    mutant: {
      intakeOffers: (enqueuer) => ({
        enqueue: (shard, entry) => enqueuer.enqueue(shard, entry),
        enqueueLater: (shard, entry) => enqueuer.enqueueLater(shard, entry),
        reschedule: (shard, entry, dueAtMs, generation) => enqueuer.reschedule(shard, entry, dueAtMs, generation),
        cancel: async (shard, ids) => (await enqueuer.cancel(shard, ids)) ?? ids.map(() => 'absent' as const),
      }),
    },
  },
  {
    name: 'a message that was read long ago is sent without being read again',
    faults: ['freeze'],
    mutant: {
      // With one call at a time for each host, messages wait long in a node's hands.
      actorParts: (parts) => ({
        ...parts,
        admission: new Admission({ capacity: 200, perTenant: 200, perHost: 1, waitingPerHost: 50 }, parts.time),
        settings: { ...parts.settings, recheckAfterMs: Infinity },
      }),
    },
  },
  {
    name: 'grants wait for locks',
    faults: ['stop in transaction', 'join'],
    // What a transaction holds is free when that has stood still for half a second, everything else at once.
    ownerlessMs: 1_500,
    mutant: {
      postgres: (postgres) => {
        postgres.skipsLocked = false;
      },
    },
  },
];

function counted(redis: RedisServer, shard: number, by: { id: string }): number {
  const key = `${PREFIX}:{${shard}}:counter`;
  const next = Number(redis.get(key)?.text ?? 0) + 1;
  redis.put(key, String(next), by);
  return next;
}
