// What a node is put together from: the stores and everything else outside of it. compose makes them of real clients, the simulator of its own.

import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { ActorParts } from '../actor/actor-parts.js';
import type { Config } from '../config.js';
import type { HttpClient } from '../delivery/http-client.js';
import type { RandomBytes, Clock, ProcessTime } from '../domain/clock.js';
import type { IntakeEnqueuer } from '../intake/node-intake.js';
import type { EpochAuthority, Fencing } from '../membership/fencing.js';
import type { MembershipParts } from '../membership/membership.js';
import type { ShardHolder } from '../membership/shard-holder.js';
import type { Locks } from '../membership/shard-lock-ranges.js';
import type { Database } from '../postgres/database.js';
import type { SubscriberClient } from '../redis/subscriptions.js';
import type { NodeHooks } from './hooks.js';

export interface NodePorts {
  readonly config: Config;
  /** Random for each process; the configured name is a label. */
  readonly identity: string;
  /** PostgreSQL, for everything but what the API writes. */
  readonly database: Database;
  /** PostgreSQL, for what the API writes; may be the same. */
  readonly accepts: Database;
  /** The data Redis, connected. */
  readonly redis: Redis | Cluster;
  readonly subscriber: SubscriberClient;
  readonly lockServers: readonly (Redis | Cluster)[];
  /** Redis's clock. */
  readonly clock: Clock;
  readonly time: ProcessTime;
  readonly random: RandomBytes;
  readonly http: HttpClient;
  readonly log: Logger;
  readonly hooks: NodeHooks;
  readonly replace?: Replacements;
}

export type LocksOfMembership = MembershipParts['locks'];
export type RosterOfMembership = MembershipParts['roster'];
export type FencingOfHolder = Pick<Fencing, 'acquire' | 'renew' | 'superseded'>;

/** Each is given a right part and says what stands in its place: for those who watch what a node does, or take a guard away. */
export interface Replacements {
  readonly authority?: (authority: EpochAuthority) => EpochAuthority;
  readonly fencing?: (fencing: FencingOfHolder) => FencingOfHolder;
  readonly locks?: (locks: Locks, holder: ShardHolder) => LocksOfMembership;
  readonly roster?: (roster: RosterOfMembership) => RosterOfMembership;
  readonly intakeOffers?: (enqueuer: IntakeEnqueuer) => IntakeEnqueuer;
  readonly actorParts?: (parts: ActorParts) => ActorParts;
}
