// The ports of a node: the stores and everything else outside of it. compose builds them from real clients, the
// simulator from its own.

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
  /** Random for each process; the configured name is only a label. */
  readonly identity: string;
  /** PostgreSQL, for everything except writes of the API. */
  readonly database: Database;
  /** PostgreSQL, for writes of the API; may be the same. */
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

/**
 * Each function receives the real part and returns its replacement, for tests that observe a node or remove a guard.
 */
export interface Replacements {
  readonly authority?: (authority: EpochAuthority) => EpochAuthority;
  readonly fencing?: (fencing: FencingOfHolder) => FencingOfHolder;
  readonly locks?: (locks: Locks, holder: ShardHolder) => LocksOfMembership;
  readonly roster?: (roster: RosterOfMembership) => RosterOfMembership;
  readonly intakeOffers?: (enqueuer: IntakeEnqueuer) => IntakeEnqueuer;
  readonly actorParts?: (parts: ActorParts) => ActorParts;
}
