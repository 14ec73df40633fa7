// A node's part in the cluster: a heartbeat that extends its leases and tells the roster, and a plan that it carries out by giving shards
// it has too many of and taking free ones that are due to it. Nobody takes what somebody holds; the locks decide who tries, the epochs
// decide who succeeds.
//
// Heartbeats go on while shards are given and taken, which may take as long as the stores do.

import type { Logger } from 'pino';
import type { Cancel, ProcessTime } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import { Deferred } from '../actor/deferred.js';
import type { Channels } from '../redis/channels.js';
import { eligibleMembers, isStarting, joining } from './eligibility.js';
import { GatheredLines } from './gathered-lines.js';
import { planOwners } from './plan.js';
import type { Roster, RosterView } from './roster.js';
import type { ShardHolder } from './shard-holder.js';
import type { ShardLocks } from './shard-locks.js';

export interface MembershipSettings {
  /** This process: its label and a random end. */
  readonly id: string;
  readonly name: string;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** A node counts for new shards only after this much uptime. */
  readonly joinGraceMs: number;
  /** Most shards that a node gives away in one heartbeat, once the cluster has started. */
  readonly handoversMax: number;
}

/** What happened to leases, for those who measure. */
export interface MembershipEvents {
  readonly onHandedOver: (shards: number, durationMs: number) => void;
  readonly onAcquired: (shards: number, durationMs: number, acquired: readonly number[]) => void;
  readonly onExpired: (shards: number, lost: readonly number[]) => void;
  /** Shards are about to be given away. */
  readonly onHandingOver?: (shards: readonly number[]) => void;
  /** A heartbeat read the roster. */
  readonly onView?: (view: RosterView) => void;
}

export interface MembershipParts {
  readonly locks: Pick<ShardLocks, 'locked' | 'acquire' | 'extend' | 'release' | 'troubleMs' | 'probe'>;
  readonly roster: Pick<Roster, 'heartbeat' | 'setOwner' | 'clearOwner' | 'leave'>;
  readonly holder: Pick<ShardHolder, 'owned' | 'stuckFor' | 'acquire' | 'handOver' | 'drop' | 'stop'>;
  readonly channels: Pick<Channels, 'announceFree'>;
  readonly time: ProcessTime;
  /** Nobody takes shards while PostgreSQL is unavailable: no epoch could be granted. */
  readonly isPostgresAvailable: () => boolean;
  /** Whether the Redis server of a shard is available: nobody acquires a shard that cannot be fenced. */
  readonly isRedisAvailable: (shard: number) => boolean;
  /** Looks for a sign of life of PostgreSQL, if there was none for `quietMs`, for at most `withinMs`. Does not throw. */
  readonly probePostgres: (quietMs: number, withinMs: number) => Promise<void>;
  readonly settings: MembershipSettings;
  readonly events: MembershipEvents;
  readonly log: Logger;
}

/** What is free by the roster and was locked is on its way to somebody else, or a dead owner's lock has yet to end: looks again so soon. */
const LOCKED_PAUSE_MS = 100;
/** What held on to a shard is over by then, or was found to stand still. */
const GRANT_PAUSE_MS = 30;
/** A heartbeat that was asked for, as when shards became free, leaves leases alone that one before it just extended: part of a heartbeat. */
const FRESH_OF_HEARTBEAT = 0.5;
/** Heartbeats in which the others can say that they are unable too: from when the lock servers have been away for a lease. */
const PATIENCE_HEARTBEATS = 3;
/** The same from when PostgreSQL is unavailable. With the time in which that is noticed this is less than a lease. */
const POSTGRES_PATIENCE_HEARTBEATS = 2;
/** PostgreSQL's sign of life is waited for so long, as a part of a lease. */
const PROBE_OF_LEASE = 0.1;
/** A busy machine may take so long for it, however short the lease. */
const MIN_PROBE_MS = 500;

export class Membership {
  readonly #parts: MembershipParts;
  readonly #startedAtMs: number;
  #view: RosterView | null = null;
  /** Since when PostgreSQL has been out of this node's reach, as far as heartbeats saw. */
  #postgresUnavailableSinceMs: number | null = null;
  #started = false;
  #draining = false;
  #stopped = false;
  #heartbeatRunning: Promise<boolean> | null = null;
  #isHeartbeatRequested = false;
  #cancelHeartbeat: Cancel = () => undefined;
  /** Shards on their way to or from this node: their locks are held without an actor for a while. */
  readonly #moving = new Set<number>();
  #rebalancing: Promise<void> | null = null;
  /** Under way side by side: what one giver let go need not wait until what another gave is taken. */
  readonly #acquisitions = new Set<Promise<unknown>>();
  #isRebalanceRequested = false;
  readonly #settled = new Deferred();
  readonly #fenced: GatheredLines<number>;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    this.#startedAtMs = parts.time.monotonicMs();
    this.#fenced = new GatheredLines(parts.time, (shards) =>
      parts.log.warn({ shards: [...shards].sort((a, b) => a - b) }, 'fenced: shards have another owner'),
    );
  }

  /** What the last heartbeat read; null before the first. */
  get view(): RosterView | null {
    return this.#view;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Joins. Resolves when this node has what is due to it, or nothing is yet. */
  async start(): Promise<void> {
    this.#started = true;
    this.#scheduleHeartbeat(0);
    await this.#settled.promise;
  }

  /** There may be shards to take: looks at once. Before the start nothing is looked at. */
  nudge(): void {
    this.#heartbeatWithin(0);
  }

  /** Gives every shard away and takes no more; the node stays in the roster as draining. */
  async drain(): Promise<void> {
    if (!this.#draining) this.#parts.log.info('draining');
    this.#draining = true;
    // Others plan without this node before it gives. What was begun before does not know that it drains.
    await this.#heartbeatRunning;
    await this.#joinHeartbeat();
    await this.#untilNothingMoves();
    await this.#rebalance();
  }

  /** Drains, waits for what is under way up to the drain limit, and leaves. May be called again. */
  async stop(): Promise<void> {
    const { holder, locks, roster, channels, settings, log } = this.#parts;
    await this.drain();
    this.#stopped = true;
    this.#settled.resolve();
    this.#cancelHeartbeat();
    await this.#heartbeatRunning;
    await this.#untilNothingMoves();
    const left = locks.locked();
    holder.drop(holder.owned());
    await this.#quietly('leave', async () => {
      await roster.clearOwner(settings.id, left);
      await roster.leave(settings.id);
    });
    await locks.release(left);
    if (left.length > 0) await channels.announceFree();
    log.debug({ shards: left.length }, 'left the roster');
    await holder.stop();
  }

  /** A shard's actor found out that it has another owner. */
  fenced(shard: number): void {
    this.#fenced.add(shard);
    this.#parts.holder.drop([shard]);
    this.nudge();
  }

  /** The next heartbeat comes no later than in so many milliseconds, or right after one that is under way. */
  #heartbeatWithin(delayMs: number): void {
    if (!this.#started || this.#stopped) return;
    if (this.#heartbeatRunning !== null) {
      this.#isHeartbeatRequested = true;
      return;
    }
    this.#cancelHeartbeat();
    this.#scheduleHeartbeat(delayMs);
  }

  #scheduleHeartbeat(delayMs: number): void {
    this.#cancelHeartbeat = this.#parts.time.after(delayMs, () => void this.#runHeartbeat());
  }

  async #runHeartbeat(): Promise<void> {
    // Nobody plans by what an earlier heartbeat read.
    if (await this.#joinHeartbeat()) void this.#rebalance();
    if (this.#stopped) return;
    this.#cancelHeartbeat();
    const delayMs = this.#isHeartbeatRequested ? 0 : this.#parts.settings.heartbeatMs;
    this.#isHeartbeatRequested = false;
    this.#scheduleHeartbeat(delayMs);
  }

  /** One at a time. Tells whether the roster was read. */
  #joinHeartbeat(): Promise<boolean> {
    this.#heartbeatRunning ??= this.#heartbeat().finally(() => (this.#heartbeatRunning = null));
    return this.#heartbeatRunning;
  }

  async #heartbeat(): Promise<boolean> {
    const { locks, holder, roster, settings, events, log } = this.#parts;
    // A shard that this node cannot work on is for others, or for nobody while the store is unavailable.
    const stuck = holder.stuckFor(settings.leaseMs);
    if (stuck.length > 0) {
      log.warn({ shards: stuck }, 'shards could not be claimed from for a lease: they are given up');
      holder.drop(stuck);
      await locks.release(stuck);
    }
    void this.#probePostgres();
    const lost = await locks.extend(FRESH_OF_HEARTBEAT * settings.heartbeatMs);
    this.#reconcile(lost);
    if (locks.troubleMs > 0) await locks.probe();
    if (lost.length > 0) {
      log.warn({ shards: lost }, 'leases lapsed');
      events.onExpired(lost.length, lost);
    }
    return this.#quietly('heartbeat', async () => {
      const about = {
        name: settings.name,
        uptimeMs: Math.round(this.#parts.time.monotonicMs() - this.#startedAtMs),
        draining: this.#draining,
        able: this.#postgresUnavailableMs() === null && locks.troubleMs < settings.leaseMs,
      };
      this.#view = await roster.heartbeat(settings.id, about, holder.owned());
      events.onView?.(this.#view);
    });
  }

  /** The others hear at once that PostgreSQL is out of this node's reach. */
  async #probePostgres(): Promise<void> {
    const { probePostgres: probeTable, isPostgresAvailable: isTableAvailable, settings } = this.#parts;
    const withinMs = Math.max(MIN_PROBE_MS, PROBE_OF_LEASE * settings.leaseMs);
    await probeTable(FRESH_OF_HEARTBEAT * settings.heartbeatMs, withinMs);
    if (!isTableAvailable() && this.#postgresUnavailableSinceMs === null) this.nudge();
  }

  /** For how long PostgreSQL has been out of this node's reach, as far as heartbeats saw; null when it is not. */
  #postgresUnavailableMs(): number | null {
    const { time, isPostgresAvailable: isTableAvailable } = this.#parts;
    if (isTableAvailable()) this.#postgresUnavailableSinceMs = null;
    else this.#postgresUnavailableSinceMs ??= time.monotonicMs();
    return this.#postgresUnavailableSinceMs === null ? null : time.monotonicMs() - this.#postgresUnavailableSinceMs;
  }

  /**
   * Whether this node can work on shards. `perhaps`: it cannot, and the others may have had no time yet to say that they cannot either. A
   * store that is unavailable for all is away for each of them at a slightly different time: whoever notices first does not give yet.
   */
  #ability(): 'able' | 'perhaps' | 'unable' {
    const { locks, settings } = this.#parts;
    const { leaseMs, heartbeatMs } = settings;
    const postgresUnavailableMs = this.#postgresUnavailableMs();
    if (postgresUnavailableMs === null && locks.troubleMs === 0) return 'able';
    const isPostgresPatienceOver = (postgresUnavailableMs ?? 0) >= POSTGRES_PATIENCE_HEARTBEATS * heartbeatMs;
    return isPostgresPatienceOver || locks.troubleMs >= leaseMs + PATIENCE_HEARTBEATS * heartbeatMs
      ? 'unable'
      : 'perhaps';
  }

  /** Locks and actors belong together: neither outlives the other, except while a shard moves. */
  #reconcile(lost: readonly number[]): void {
    const { locks, holder } = this.#parts;
    holder.drop(lost);
    const held = new Set(locks.locked());
    const owned = holder.owned();
    holder.drop(owned.filter((shard) => !held.has(shard) && !this.#moving.has(shard)));
    const running = new Set(holder.owned());
    const orphans = [...held].filter((shard) => !running.has(shard) && !this.#moving.has(shard));
    if (orphans.length > 0) void locks.release(orphans);
  }

  async #untilNothingMoves(): Promise<void> {
    await this.#rebalancing;
    await Promise.all(this.#acquisitions);
    // A heartbeat may have begun to give before the last take ended.
    await this.#rebalancing;
  }

  /** Carries the plan out, save for what is on its way already; one at a time, and once more if asked for meanwhile. */
  #rebalance(): Promise<void> {
    if (this.#rebalancing !== null) {
      this.#isRebalanceRequested = true;
      return this.#rebalancing;
    }
    this.#rebalancing = this.#rebalanceOnce().finally(() => {
      this.#rebalancing = null;
      const isRequested = this.#isRebalanceRequested;
      this.#isRebalanceRequested = false;
      if (isRequested && !this.#stopped) this.nudge();
    });
    return this.#rebalancing;
  }

  async #rebalanceOnce(): Promise<void> {
    const { holder, settings, isPostgresAvailable: isTableAvailable, isRedisAvailable } = this.#parts;
    const { id, handoversMax } = settings;
    await this.#quietly('rebalance', async () => {
      const owned = new Set(holder.owned());
      const still = [...owned].filter((shard) => !this.#moving.has(shard));
      if (this.#draining) return this.#handOver(still);
      const view = this.#view;
      if (view === null) return;
      const members = eligibleMembers(view, settings);
      const plan = planOwners(members, view.owners, joining(view, members));
      const isDue = (owner: string, shard: number): boolean =>
        owner === id &&
        !owned.has(shard) &&
        !this.#moving.has(shard) &&
        isFree(view, shard, id) &&
        isRedisAvailable(shard);
      const ability = this.#ability();
      const most = isStarting(view, settings) || ability === 'unable' ? owned.size : handoversMax;
      if (ability !== 'perhaps')
        await this.#handOver(still.filter((shard) => view.owners[shard] === id && plan[shard] !== id).slice(0, most));
      if (!isTableAvailable()) return;
      this.#startAcquiring(plan.flatMap((owner, shard) => (isDue(owner, shard) ? [shard] : [])));
    });
  }

  #startAcquiring(shards: readonly number[]): void {
    const taking = this.#quietly('take', async () => {
      await this.#acquire(shards);
    }).then((isDone) => {
      this.#acquisitions.delete(taking);
      if (isDone && this.#acquisitions.size === 0) this.#settled.resolve();
    });
    this.#acquisitions.add(taking);
  }

  async #handOver(shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return;
    const { holder, roster, locks, channels, settings, events, time } = this.#parts;
    const startedAtMs = time.monotonicMs();
    events.onHandingOver?.(shards);
    await this.#whileMoving(shards, async () => {
      await holder.handOver(shards);
      // The name first: or it could be taken off after the next owner has written its own.
      await this.#quietly('disown', () => roster.clearOwner(settings.id, shards));
      await locks.release(shards);
    });
    await channels.announceFree();
    events.onHandedOver(shards.length, time.monotonicMs() - startedAtMs);
  }

  async #acquire(shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return;
    const { holder, roster, locks, settings, events, time } = this.#parts;
    const startedAtMs = time.monotonicMs();
    for (const shard of shards) this.#moving.add(shard);
    const locked = await locks.acquire(shards);
    // The others may be tried again by the next heartbeat, while these are taken.
    for (const shard of shards) if (!locked.includes(shard)) this.#moving.delete(shard);
    if (locked.length < shards.length && locks.troubleMs === 0) this.#heartbeatWithin(LOCKED_PAUSE_MS);
    if (locked.length === 0) return;
    let acquired: number[] = [];
    await this.#whileMoving(locked, async () => {
      try {
        acquired = await holder.acquire(locked);
        await roster.setOwner(settings.id, acquired);
      } finally {
        const others = locked.filter((shard) => !acquired.includes(shard));
        if (others.length > 0) await locks.release(others);
      }
      events.onAcquired(acquired.length, time.monotonicMs() - startedAtMs, acquired);
    });
    // A transaction of the former owner holds on to the others.
    if (acquired.length < locked.length) this.#heartbeatWithin(GRANT_PAUSE_MS);
  }

  async #whileMoving(shards: readonly number[], work: () => Promise<void>): Promise<void> {
    for (const shard of shards) this.#moving.add(shard);
    try {
      await work();
    } finally {
      for (const shard of shards) this.#moving.delete(shard);
    }
  }

  /** A store that is unavailable is known to those who watch it, and the next heartbeat tries again. */
  async #quietly(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!(error instanceof CarillonError)) this.#parts.log.error({ err: error, what }, 'membership failed');
      return false;
    }
  }
}

/** Free as far as the roster knows: nobody's, a dead node's, or said to be ours although it is not. */
function isFree(view: RosterView, shard: number, id: string): boolean {
  const owner = view.owners[shard] ?? null;
  return owner === null || owner === id || !view.members.some((member) => member.id === owner);
}
