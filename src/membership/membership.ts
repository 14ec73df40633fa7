// A node's membership of the cluster: a heartbeat that extends its leases and updates the roster, and a plan by which
// it hands over surplus shards and acquires free ones. No node acquires a shard that another node owns. The locks
// decide who tries, the epochs decide who succeeds. Heartbeats continue while shards are handed over and acquired,
// which may take as long as the stores do.

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
  /** Identifies this process: its label and a random suffix. */
  readonly id: string;
  readonly name: string;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** A node is eligible for new shards only after this uptime. */
  readonly joinGraceMs: number;
  /** Most shards that a node hands over in one heartbeat, once the cluster has started. */
  readonly handoversMax: number;
}

/** Callbacks for metrics about leases. */
export interface MembershipEvents {
  readonly onHandedOver: (shards: number, durationMs: number) => void;
  readonly onAcquired: (shards: number, durationMs: number, acquired: readonly number[]) => void;
  readonly onExpired: (shards: number, lost: readonly number[]) => void;
  /** Shards are about to be handed over. */
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
  /** No node acquires shards while PostgreSQL is unavailable: it could not grant an epoch. */
  readonly isPostgresAvailable: () => boolean;
  /** Whether the Redis server of a shard is available: a node does not acquire a shard that cannot be fenced. */
  readonly isRedisAvailable: (shard: number) => boolean;
  /** Probes PostgreSQL if it has not answered for `quietMs`, for at most `withinMs`. Does not throw. */
  readonly probePostgres: (quietMs: number, withinMs: number) => Promise<void>;
  readonly settings: MembershipSettings;
  readonly events: MembershipEvents;
  readonly log: Logger;
}

/** The delay before the next look at a shard that is free in the roster but locked: another node acquires it. */
const LOCKED_PAUSE_MS = 100;
/** By then the transaction that blocked a shard has ended, or was found to be idle. */
const GRANT_PAUSE_MS = 30;
/** A requested heartbeat does not extend leases that were extended within this fraction of a heartbeat. */
const FRESH_OF_HEARTBEAT = 0.5;
/** Heartbeats in which other nodes can report to be unhealthy too, after a lease without lock servers. */
const PATIENCE_HEARTBEATS = 3;
/** The same, counted from when PostgreSQL became unavailable; with the time to notice it, less than a lease. */
const POSTGRES_PATIENCE_HEARTBEATS = 2;
/** The time limit of a probe of PostgreSQL, as a fraction of a lease. */
const PROBE_OF_LEASE = 0.1;
/** Least time limit of a probe: a busy machine may take this long, however short the lease. */
const MIN_PROBE_MS = 500;

export class Membership {
  readonly #parts: MembershipParts;
  readonly #startedAtMs: number;
  #view: RosterView | null = null;
  /** Since when this node cannot reach PostgreSQL, as far as heartbeats noticed. */
  #postgresUnavailableSinceMs: number | null = null;
  #started = false;
  #draining = false;
  #stopped = false;
  #heartbeatRunning: Promise<boolean> | null = null;
  #isHeartbeatRequested = false;
  #cancelHeartbeat: Cancel = () => undefined;
  /** Shards that are being acquired or handed over: their locks have no actor here for a while. */
  readonly #moving = new Set<number>();
  #rebalancing: Promise<void> | null = null;
  /** Acquisitions run concurrently: those of one former owner need not wait for those of another. */
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

  /** The roster that the last heartbeat read; null before the first. */
  get view(): RosterView | null {
    return this.#view;
  }

  get isDraining(): boolean {
    return this.#draining;
  }

  /** Joins the cluster. Resolves when this node owns its planned shards, or none are planned yet. */
  async start(): Promise<void> {
    this.#started = true;
    this.#scheduleHeartbeat(0);
    await this.#settled.promise;
  }

  /** Starts a heartbeat at once, because there may be shards to acquire. Does nothing before the start. */
  nudge(): void {
    this.#heartbeatWithin(0);
  }

  /** Hands over every shard and acquires no more; the node stays in the roster as draining. */
  async drain(): Promise<void> {
    if (!this.#draining) this.#parts.log.info('draining');
    this.#draining = true;
    // Other nodes must plan without this node before it hands over. A heartbeat that started earlier does not report
    // that it drains.
    await this.#heartbeatRunning;
    await this.#joinHeartbeat();
    await this.#untilNothingMoves();
    await this.#rebalance();
  }

  /** Drains, waits for the work in flight up to the drain limit, and leaves. May be called again. */
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

  /** Called when a shard's actor found that the shard has another owner. */
  fenced(shard: number): void {
    this.#fenced.add(shard);
    this.#parts.holder.drop([shard]);
    this.nudge();
  }

  /** Starts the next heartbeat within this time, or right after one that is running. */
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
    // Plans only by the roster that this heartbeat read.
    if (await this.#joinHeartbeat()) void this.#rebalance();
    if (this.#stopped) return;
    this.#cancelHeartbeat();
    const delayMs = this.#isHeartbeatRequested ? 0 : this.#parts.settings.heartbeatMs;
    this.#isHeartbeatRequested = false;
    this.#scheduleHeartbeat(delayMs);
  }

  /** Runs one heartbeat at a time. Returns whether the roster was read. */
  #joinHeartbeat(): Promise<boolean> {
    this.#heartbeatRunning ??= this.#heartbeat().finally(() => (this.#heartbeatRunning = null));
    return this.#heartbeatRunning;
  }

  async #heartbeat(): Promise<boolean> {
    const { locks, holder, roster, settings, events, log } = this.#parts;
    // A shard that this node cannot claim from is for other nodes, or for none while the store is unavailable.
    const stuck = holder.stuckFor(settings.leaseMs);
    if (stuck.length > 0) {
      log.warn({ shards: stuck }, 'no claim succeeded for the duration of a lease: the shards are released');
      holder.drop(stuck);
      await locks.release(stuck);
    }
    void this.#probePostgres();
    const lost = await locks.extend(FRESH_OF_HEARTBEAT * settings.heartbeatMs);
    this.#reconcile(lost);
    if (locks.troubleMs > 0) await locks.probe();
    if (lost.length > 0) {
      log.warn({ shards: lost }, 'leases expired');
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

  /** Reports to the other nodes at once that this node cannot reach PostgreSQL. */
  async #probePostgres(): Promise<void> {
    const { probePostgres, isPostgresAvailable, settings } = this.#parts;
    const withinMs = Math.max(MIN_PROBE_MS, PROBE_OF_LEASE * settings.leaseMs);
    await probePostgres(FRESH_OF_HEARTBEAT * settings.heartbeatMs, withinMs);
    if (!isPostgresAvailable() && this.#postgresUnavailableSinceMs === null) this.nudge();
  }

  /** Returns for how long heartbeats could not reach PostgreSQL; null when they can. */
  #postgresUnavailableMs(): number | null {
    const { time, isPostgresAvailable } = this.#parts;
    if (isPostgresAvailable()) this.#postgresUnavailableSinceMs = null;
    else this.#postgresUnavailableSinceMs ??= time.monotonicMs();
    return this.#postgresUnavailableSinceMs === null ? null : time.monotonicMs() - this.#postgresUnavailableSinceMs;
  }

  /**
   * Returns whether this node can work on shards. `uncertain`: it cannot, but the other nodes may have had no time yet
   * to report the same. Nodes notice an unavailable store at slightly different times; the first to notice does not
   * hand over yet.
   */
  #health(): 'healthy' | 'uncertain' | 'unhealthy' {
    const { locks, settings } = this.#parts;
    const { leaseMs, heartbeatMs } = settings;
    const postgresUnavailableMs = this.#postgresUnavailableMs();
    if (postgresUnavailableMs === null && locks.troubleMs === 0) return 'healthy';
    const isPostgresPatienceOver = (postgresUnavailableMs ?? 0) >= POSTGRES_PATIENCE_HEARTBEATS * heartbeatMs;
    return isPostgresPatienceOver || locks.troubleMs >= leaseMs + PATIENCE_HEARTBEATS * heartbeatMs
      ? 'unhealthy'
      : 'uncertain';
  }

  /** Keeps locks and actors consistent: neither outlives the other, except while a shard moves. */
  #reconcile(lost: readonly number[]): void {
    const { locks, holder } = this.#parts;
    holder.drop(lost);
    const locked = new Set(locks.locked());
    const owned = holder.owned();
    holder.drop(owned.filter((shard) => !locked.has(shard) && !this.#moving.has(shard)));
    const running = new Set(holder.owned());
    const orphans = [...locked].filter((shard) => !running.has(shard) && !this.#moving.has(shard));
    if (orphans.length > 0) void locks.release(orphans);
  }

  async #untilNothingMoves(): Promise<void> {
    await this.#rebalancing;
    await Promise.all(this.#acquisitions);
    // A heartbeat may have started to hand over before the last acquisition ended.
    await this.#rebalancing;
  }

  /**
   * Carries out the plan for shards that are not moving already. Runs one at a time, and once more if requested
   * meanwhile.
   */
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
    const { holder, settings, isPostgresAvailable, isRedisAvailable } = this.#parts;
    const { id, handoversMax } = settings;
    await this.#quietly('rebalance', async () => {
      const owned = new Set(holder.owned());
      const staying = [...owned].filter((shard) => !this.#moving.has(shard));
      if (this.#draining) return this.#handOver(staying);
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
      const health = this.#health();
      const most = isStarting(view, settings) || health === 'unhealthy' ? owned.size : handoversMax;
      if (health !== 'uncertain')
        await this.#handOver(staying.filter((shard) => view.owners[shard] === id && plan[shard] !== id).slice(0, most));
      if (!isPostgresAvailable()) return;
      this.#startAcquiring(plan.flatMap((owner, shard) => (isDue(owner, shard) ? [shard] : [])));
    });
  }

  #startAcquiring(shards: readonly number[]): void {
    const acquisition = this.#quietly('acquire', async () => {
      await this.#acquire(shards);
    }).then((isDone) => {
      this.#acquisitions.delete(acquisition);
      if (isDone && this.#acquisitions.size === 0) this.#settled.resolve();
    });
    this.#acquisitions.add(acquisition);
  }

  async #handOver(shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return;
    const { holder, roster, locks, channels, settings, events, time } = this.#parts;
    const startedAtMs = time.monotonicMs();
    events.onHandingOver?.(shards);
    await this.#whileMoving(shards, async () => {
      await holder.handOver(shards);
      // Clears the owner before the lock is released; otherwise it could clear the name of the next owner.
      await this.#quietly('clear owner', () => roster.clearOwner(settings.id, shards));
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
    // The other shards may be tried again by the next heartbeat, while these are acquired.
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
    // A transaction of the former owner blocks the others.
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

  /** Ignores errors of unavailable stores: others report them, and the next heartbeat tries again. */
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

/**
 * Returns whether a shard is free according to the roster: it has no owner, a dead owner, or this node, which does not
 * own it.
 */
function isFree(view: RosterView, shard: number, id: string): boolean {
  const owner = view.owners[shard] ?? null;
  return owner === null || owner === id || !view.members.some((member) => member.id === owner);
}
