// Wrong clusters: each takes one guard away, and the simulation must notice. A check that nothing can fail proves nothing.

import { Admission } from '../../src/actor/admission.js';
import type { Spoil } from './node.js';
import type { FaultKind } from './faults.js';
import { refused } from './queue-state.js';
import type { RedisServer } from './redis-server.js';
import { EVERY_FAULT } from './faults.js';
import type { SimulationSettings } from './simulation.js';

export interface Mutation extends Omit<SimulationSettings, 'faults' | 'spoil'> {
  readonly name: string;
  readonly spoil: Spoil;
  readonly faults: readonly FaultKind[];
}

const PREFIX = 'carillon';

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'claims ignore epochs',
    faults: ['stall', 'stall', 'stall', 'freeze', 'kill', 'join'],
    spoil: {
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
    spoil: {
      authority: (authority, redis, process) => ({
        ...authority,
        grant: async (node, shards) => {
          // The table hears of it, so that only the counting is wrong.
          await authority.grant(node, shards);
          return new Map(shards.map((shard) => [shard, counted(redis, shard, process)]));
        },
      }),
    },
  },
  {
    name: 'owners are not asserted again at heartbeats',
    faults: ['flush', 'join'],
    spoil: {
      redis: (redis) => {
        const { beat } = redis.models;
        redis.models = {
          ...redis.models,
          beat: (server, keys, args, by) => {
            const owners = server.hash(keys[2] ?? '');
            const before = new Map(owners);
            const asserted = args
              .slice(0, 4)
              .concat([...before].flatMap(([shard, id]) => (id === args[0] ? [shard] : [])));
            return beat?.(server, keys, asserted, by);
          },
        };
      },
    },
  },
  {
    name: 'shards are taken as if another run of Redis had forgotten nothing',
    faults: ['failover', 'redis away', 'kill', 'join'],
    spoil: {
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
    spoil: {
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
    spoil: { actorParts: (parts) => ({ ...parts, isTrusted: () => true }) },
  },
  {
    name: 'a reconnect to Redis goes unnoticed',
    faults: ['failover', 'failover', 'break', 'freeze', 'redis away'],
    spoil: { redisClient: (client) => Object.create(client, { on: { value: () => client } }) as typeof client },
  },
  {
    name: 'locks of halted actors are extended for ever',
    faults: ['join', 'freeze', 'kill', 'stop'],
    spoil: {
      locks: (locks, holder) => ({
        acquire: (shards) => locks.acquire(shards),
        extend: (freshMs) => locks.extend(freshMs),
        probe: () => locks.probe(),
        get troubleMs() {
          return locks.troubleMs;
        },
        release: () => Promise.resolve(),
        held: () => {
          const owned = new Set(holder.owned());
          return locks.held().filter((shard) => owned.has(shard));
        },
      }),
    },
  },
  {
    name: 'cancels are acknowledged although Redis did not confirm them',
    faults: ['cut off'],
    spoil: {
      intakeOffers: (offers) => ({
        offer: (shard, entry) => offers.offer(shard, entry),
        offerAhead: (shard, entry) => offers.offerAhead(shard, entry),
        reschedule: (shard, entry, dueAtMs, generation) => offers.reschedule(shard, entry, dueAtMs, generation),
        cancel: async (shard, ids) => (await offers.cancel(shard, ids)) ?? ids.map(() => 'absent' as const),
      }),
    },
  },
  {
    name: 'a message that was read long ago is sent without being read again',
    faults: ['freeze'],
    spoil: {
      // With one call at a time for each host, messages wait long in a node's hands.
      actorParts: (parts) => ({
        ...parts,
        admission: new Admission({ capacity: 200, perTenant: 200, perHost: 1, waitingPerHost: 50 }, () =>
          parts.time.monotonicMs(),
        ),
        settings: { ...parts.settings, recheckAfterMs: Infinity },
      }),
    },
  },
  {
    name: 'grants wait for locks',
    faults: ['stop in transaction', 'join'],
    // What a transaction holds is free when that has stood still for half a second, everything else at once.
    ownerlessMs: 1_500,
    spoil: {
      table: (table) => {
        table.skipsLocked = false;
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
