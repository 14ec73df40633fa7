// Manages the actors of the shards that this node owns, and of those that it handed over with work still in flight.

import type { Logger } from 'pino';
import type { ActorParts } from '../actor/actor-parts.js';
import { ShardActor } from '../actor/shard-actor.js';
import type { Sweeper } from '../actor/sweeper.js';
import type { Cancel, ProcessTime } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import type { Channels } from '../redis/channels.js';
import { GatheredLines } from './gathered-lines.js';
import { GroupCommit } from '../postgres/group-commit.js';
import type { Fenced, Fencing } from './fencing.js';

export interface HolderSettings {
  readonly shards: number;
  readonly extendVisibilityMs: number;
  readonly drainMs: number;
  /** How long the handover of a shard waits for its work in flight before the next owner may acquire it. */
  readonly handoverMs: number;
}

/** A null `refusedEpoch` renews whatever the actor's epoch is. */
interface Renewal {
  readonly shard: number;
  readonly refusedEpoch: number | null;
}

export class ShardHolder {
  readonly #fencing: Pick<Fencing, 'acquire' | 'renew' | 'superseded'>;
  readonly #sweeper: Pick<Sweeper, 'add' | 'remove' | 'stop'>;
  readonly #channels: Pick<Channels, 'subscribe' | 'unsubscribe'>;
  readonly #time: ProcessTime;
  readonly #settings: HolderSettings;
  readonly #log: Logger;
  readonly #actors = new Map<number, ShardActor>();
  /** Halted actors that still have work in flight. */
  readonly #leaving = new Map<number, ShardActor>();
  readonly #renewals: GroupCommit<Renewal, number | null>;
  readonly #renewed: GatheredLines<{ readonly shard: number; readonly isLost: boolean }>;
  #parts: ActorParts | null = null;
  #cancelExtension: Cancel = () => undefined;
  #stopping: Promise<void> | null = null;

  constructor(parts: {
    fencing: Pick<Fencing, 'acquire' | 'renew' | 'superseded'>;
    sweeper: Pick<Sweeper, 'add' | 'remove' | 'stop'>;
    channels: Pick<Channels, 'subscribe' | 'unsubscribe'>;
    time: ProcessTime;
    settings: HolderSettings;
    log: Logger;
  }) {
    this.#fencing = parts.fencing;
    this.#sweeper = parts.sweeper;
    this.#channels = parts.channels;
    this.#time = parts.time;
    this.#settings = parts.settings;
    this.#log = parts.log;
    this.#renewed = new GatheredLines(parts.time, (renewed) => {
      const shards = [...new Set(renewed.map(({ shard }) => shard))].sort((a, b) => a - b);
      const redisLost = new Set(renewed.flatMap(({ shard, isLost }) => (isLost ? [shard] : []))).size;
      parts.log.warn({ shards, redisLost }, 'epochs renewed: Redis was unavailable, lost its data, or refused them');
    });
    this.#renewals = new GroupCommit({ maxItems: parts.settings.shards, maxGroups: 1 }, (renewals) =>
      this.#renew(renewals),
    );
  }

  /**
   * Provides the dependencies of the actors, which need the holder themselves. Must be called before the first
   * `acquire`.
   */
  start(parts: ActorParts): void {
    this.#parts = parts;
    this.#extendVisibilityLater();
  }

  /** Shards whose actors run, in order. */
  owned(): number[] {
    return [...this.#actors.keys()].sort((a, b) => a - b);
  }

  /** Deliveries and firings in flight. */
  get inFlight(): number {
    return [...this.#actors.values(), ...this.#leaving.values()].reduce((sum, actor) => sum + actor.inFlight, 0);
  }

  /** Returns the shards whose actors have tried to claim without success for this long. */
  stuckFor(durationMs: number): number[] {
    return [...this.#actors].filter(([, actor]) => actor.stuckMs >= durationMs).map(([shard]) => shard);
  }

  /**
   * Acquires shards: new epochs, fences, actors; reads nothing else. Returns the shards that this node owns now. Throws
   * when a store is unavailable; then none was acquired.
   */
  async acquire(shards: readonly number[]): Promise<number[]> {
    if (shards.length === 0 || this.#stopping !== null) return [];
    const startedAtMs = this.#time.monotonicMs();
    // Subscribes before the actor's first claim, so that it learns of work that arrives after that claim.
    const subscribed = this.#channels.subscribe(shards);
    const { epochs, lost } = await this.#acquireOrUnsubscribe(shards);
    await subscribed;
    for (const [shard, epoch] of epochs) this.#sweeper.add(this.#actorOf(shard, epoch), lost.has(shard));
    const durationMs = Math.round(this.#time.monotonicMs() - startedAtMs);
    const acquired = [...epochs.keys()].sort((a, b) => a - b);
    if (acquired.length > 0) this.#log.info({ shards: acquired, redisLost: lost.size, durationMs }, 'shards acquired');
    return acquired;
  }

  async #acquireOrUnsubscribe(shards: readonly number[]): Promise<Fenced> {
    let fenced: Fenced = { epochs: new Map(), lost: new Set() };
    try {
      fenced = await this.#fencing.acquire(shards);
      return fenced;
    } finally {
      const others = shards.filter((shard) => !fenced.epochs.has(shard) && !this.#actors.has(shard));
      if (others.length > 0) void this.#channels.unsubscribe(others);
    }
  }

  /**
   * Stops claiming from shards and waits a bounded time for their work in flight. Afterwards another node may acquire
   * them.
   */
  async handOver(shards: readonly number[]): Promise<void> {
    const startedAtMs = this.#time.monotonicMs();
    const actors = this.#halt(shards);
    await Promise.all(
      actors.map(async (actor) => {
        await actor.halt();
        await actor.idleWithin(this.#settings.handoverMs);
      }),
    );
    const inFlight = actors.reduce((sum, actor) => sum + actor.inFlight, 0);
    const durationMs = Math.round(this.#time.monotonicMs() - startedAtMs);
    const given = actors.map((actor) => actor.shard).sort((a, b) => a - b);
    this.#log.info({ shards: given, inFlight, durationMs }, 'shards handed over');
  }

  /** Drops shards whose lease expired or that were fenced: they may have another owner already. */
  drop(shards: readonly number[]): void {
    for (const actor of this.#halt(shards)) void actor.halt();
  }

  /** Wakes a shard's actor if it sleeps beyond this time. Returns false when the shard is not owned here. */
  wake(shard: number, dueAtMs: number): boolean {
    const actor = this.#actors.get(shard);
    actor?.wake(dueAtMs);
    return actor !== undefined;
  }

  /** Wakes every actor, because hints about work that other nodes queued may have been missed. */
  wakeAll(): void {
    for (const actor of this.#actors.values()) actor.wake(0);
  }

  /**
   * Returns the epoch to continue with for a shard whose epoch Redis refused: a new one when the shard's state is
   * missing, the present one when it is newer than the refused one (a claim in progress during a renewal cannot know
   * it). Returns null when the shard has another owner.
   */
  renewEpoch(shard: number, refusedEpoch: number): Promise<number | null> {
    return this.#renewals.add({ shard, refusedEpoch });
  }

  /**
   * Called when the Redis server of these shards became unavailable: the data that it has when it is available again
   * may be older than what was written to it.
   */
  onRedisUnavailable(isConcerned: (shard: number) => boolean): void {
    for (const [shard, actor] of this.#actors) if (isConcerned(shard)) actor.suspend();
  }

  /**
   * Called when the Redis server of these shards is available again: each shard gets a new epoch and is fenced again.
   * If Redis was restarted, the fence reports it, and the shard is refilled from PostgreSQL.
   */
  async onRedisBack(isConcerned: (shard: number) => boolean): Promise<void> {
    const shards = this.owned().filter(isConcerned);
    const renewals = shards.map((shard) => ({ shard, refusedEpoch: null }));
    const epochs = await this.#renewals.addAll(renewals);
    // PostgreSQL names another owner for the others.
    this.drop(shards.filter((_, index) => epochs[index] === null));
  }

  /**
   * Stops claiming, waits for the work in flight up to the drain limit, and returns the rest to the queue. May be
   * called again.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.#halt(this.owned());
    await Promise.all([...this.#leaving.values()].map((actor) => this.#stopActor(actor)));
    this.#renewed.flush();
    this.#cancelExtension();
    await this.#sweeper.stop();
  }

  async #stopActor(actor: ShardActor): Promise<void> {
    try {
      await actor.stop(this.#settings.drainMs);
    } catch (error) {
      this.#log.warn(
        { err: error, shard: actor.shard },
        'an actor could not be stopped in order: its claims expire in Redis',
      );
    }
  }

  /**
   * Returns the shard's actor, running under this epoch: work that is still in flight on this node stays with the same
   * actor.
   */
  #actorOf(shard: number, epoch: number): ShardActor {
    const parts = this.#parts;
    if (parts === null) throw new Error('the holder was not started');
    const known = this.#actors.get(shard) ?? this.#leaving.get(shard);
    const actor = known ?? new ShardActor(shard, epoch, parts);
    this.#leaving.delete(shard);
    this.#actors.set(shard, actor);
    if (known === undefined) actor.start();
    else actor.resume(epoch);
    return actor;
  }

  /** Moves actors of shards to the leaving ones. */
  #halt(shards: readonly number[]): ShardActor[] {
    const halted = shards.flatMap((shard) => this.#actors.get(shard) ?? []);
    for (const actor of halted) {
      this.#sweeper.remove(actor.shard);
      this.#actors.delete(actor.shard);
      this.#leaving.set(actor.shard, actor);
    }
    if (halted.length > 0) void this.#channels.unsubscribe(halted.map((actor) => actor.shard));
    return halted;
  }

  #extendVisibilityLater(): void {
    this.#cancelExtension = this.#time.after(this.#settings.extendVisibilityMs, () => {
      this.#extendVisibilityLater();
      for (const [shard, actor] of this.#leaving) if (actor.inFlight === 0) this.#leaving.delete(shard);
      // Claims that cannot be extended while Redis is unavailable expire, and PostgreSQL is read before they are sent
      // again.
      void Promise.allSettled(
        [...this.#actors.values(), ...this.#leaving.values()].map((actor) => actor.extendVisibility()),
      );
      void this.#compareWithPostgres();
    });
  }

  /**
   * Finds superseded epochs. A grant may reach PostgreSQL late, when the node that requested it lost the lock long ago:
   * then Redis still has this node's epoch and refuses nothing, while PostgreSQL names another node. No message is
   * affected, but no schedule of the shard could fire.
   */
  async #compareWithPostgres(): Promise<void> {
    const owned = new Map([...this.#actors].map(([shard, actor]) => [shard, actor.epoch]));
    if (owned.size === 0 || this.#stopping !== null) return;
    try {
      for (const shard of await this.#fencing.superseded(owned))
        this.#actors.get(shard)?.superseded(owned.get(shard) ?? 0);
    } catch (error) {
      if (!(error instanceof CarillonError))
        this.#log.error({ err: error }, 'epochs could not be compared with PostgreSQL');
    }
  }

  async #renew(renewals: Renewal[]): Promise<(number | null)[]> {
    const owned = new Map<number, number>();
    for (const { shard, refusedEpoch } of renewals) {
      const epoch = this.#actors.get(shard)?.epoch;
      if (epoch !== undefined && (refusedEpoch === null || refusedEpoch === epoch)) owned.set(shard, epoch);
    }
    const epochs = owned.size === 0 ? new Map<number, number>() : await this.#renewOwned(owned);
    return renewals.map(({ shard }) => (owned.has(shard) ? epochs.get(shard) : this.#actors.get(shard)?.epoch) ?? null);
  }

  /** Grants and installs a new epoch for each shard that this node still owns under its known epoch. */
  async #renewOwned(owned: ReadonlyMap<number, number>): Promise<ReadonlyMap<number, number>> {
    const { epochs, lost }: Fenced = await this.#fencing.renew(owned);
    for (const [shard, epoch] of epochs) {
      const actor = this.#actors.get(shard);
      if (actor === undefined || actor.isHalted) continue;
      actor.renew(epoch);
      this.#sweeper.add(actor, lost.has(shard));
    }
    for (const shard of epochs.keys()) this.#renewed.add({ shard, isLost: lost.has(shard) });
    return epochs;
  }
}
