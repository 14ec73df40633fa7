// The actors of the shards that this node owns, and of those that it gave away while it still had work of theirs in its hands.

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
  /** How long a shard that is given away waits for what is under way, before its next owner may have it. */
  readonly handoverMs: number;
}

/** `refusedEpoch` null: renew whatever the actor's epoch is. */
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
  /** Halted actors that still have work in their hands. */
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

  /** Gives what actors are made of, which need the holder themselves. Before the first `take`. */
  start(parts: ActorParts): void {
    this.#parts = parts;
    this.#extendVisibilityLater();
  }

  /** Shards whose actors run, in order. */
  owned(): number[] {
    return [...this.#actors.keys()].sort((a, b) => a - b);
  }

  /** Deliveries and firings under way. */
  get inFlight(): number {
    return [...this.#actors.values(), ...this.#leaving.values()].reduce((sum, actor) => sum + actor.inFlight, 0);
  }

  /** Shards whose actors have been trying in vain to claim for this long. */
  stuckFor(durationMs: number): number[] {
    return [...this.#actors].filter(([, actor]) => actor.stuckMs >= durationMs).map(([shard]) => shard);
  }

  /**
   * Takes shards over: new epochs, fences, actors; nothing else is read. Gives those that this node has now. Throws when a store is unavailable:
   * then none was taken.
   */
  async acquire(shards: readonly number[]): Promise<number[]> {
    if (shards.length === 0 || this.#stopping !== null) return [];
    const startedAtMs = this.#time.monotonicMs();
    // Before an actor claims for the first time, it hears of what comes in behind the claim's back.
    const hearing = this.#channels.subscribe(shards);
    const { epochs, lost } = await this.#acquireOrUnsubscribe(shards);
    await hearing;
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

  /** Stops claiming from shards and waits a moment for what is under way. From then on another node may have them. */
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

  /** Drops shards whose lease ended, or that were fenced: they may have another owner already. */
  drop(shards: readonly number[]): void {
    for (const actor of this.#halt(shards)) void actor.halt();
  }

  /** Wakes a shard's actor if it sleeps beyond this time. False when the shard is not owned here. */
  wake(shard: number, dueAtMs: number): boolean {
    const actor = this.#actors.get(shard);
    actor?.wake(dueAtMs);
    return actor !== undefined;
  }

  /** What other nodes queued lately may have been missed: every actor looks. */
  wakeAll(): void {
    for (const actor of this.#actors.values()) actor.wake(0);
  }

  /**
   * The epoch to go on with for a shard whose epoch Redis refused: a new one when its state is gone, the present one when that is newer
   * than the refused one, which a claim that was under way during a renewal cannot know. Null when the shard has another owner by now.
   */
  renewEpoch(shard: number, refusedEpoch: number): Promise<number | null> {
    return this.#renewals.add({ shard, refusedEpoch });
  }

  /** The Redis server of these shards became unavailable: what it will have when it is back may be older than what it was told. */
  onRedisUnavailable(isConcerned: (shard: number) => boolean): void {
    for (const [shard, actor] of this.#actors) if (isConcerned(shard)) actor.suspend();
  }

  /**
   * The Redis server of these shards is back after it was unavailable: each gets a new epoch and is fenced again. If it is another run of Redis, the
   * fence says so, and the shard is filled again from PostgreSQL.
   */
  async onRedisBack(isConcerned: (shard: number) => boolean): Promise<void> {
    const shards = this.owned().filter(isConcerned);
    const renewals = shards.map((shard) => ({ shard, refusedEpoch: null }));
    const epochs = await this.#renewals.addAll(renewals);
    // The others have another owner by PostgreSQL.
    this.drop(shards.filter((_, index) => epochs[index] === null));
  }

  /** Stops claiming, waits for what is under way up to the drain limit, gives back the rest. May be called again. */
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
      this.#log.warn({ err: error, shard: actor.shard }, 'a shard could not be handed back in order');
    }
  }

  /** The shard's actor, running by this epoch: what this node still has in its hands from before stays in the same actor's. */
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

  /** Moves shards to those that are leaving. */
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
      // What cannot be touched while Redis is unavailable lapses, and PostgreSQL is asked before it is sent again.
      void Promise.allSettled(
        [...this.#actors.values(), ...this.#leaving.values()].map((actor) => actor.extendVisibility()),
      );
      void this.#compareWithPostgres();
    });
  }

  /**
   * A grant may reach PostgreSQL late, when the node that asked for it has long lost the lock: then Redis still has this node's epoch and
   * refuses nothing, while PostgreSQL names another. Nobody would be harmed, but no schedule of the shard could fire.
   */
  async #compareWithPostgres(): Promise<void> {
    const held = new Map([...this.#actors].map(([shard, actor]) => [shard, actor.epoch]));
    if (held.size === 0 || this.#stopping !== null) return;
    try {
      for (const shard of await this.#fencing.superseded(held))
        this.#actors.get(shard)?.superseded(held.get(shard) ?? 0);
    } catch (error) {
      if (!(error instanceof CarillonError)) this.#log.error({ err: error }, 'epochs could not be compared');
    }
  }

  async #renew(renewals: Renewal[]): Promise<(number | null)[]> {
    const held = new Map<number, number>();
    for (const { shard, refusedEpoch } of renewals) {
      const epoch = this.#actors.get(shard)?.epoch;
      if (epoch !== undefined && (refusedEpoch === null || refusedEpoch === epoch)) held.set(shard, epoch);
    }
    const epochs = held.size === 0 ? new Map<number, number>() : await this.#renewHeld(held);
    return renewals.map(({ shard }) => (held.has(shard) ? epochs.get(shard) : this.#actors.get(shard)?.epoch) ?? null);
  }

  /** Grants and installs a new epoch for each shard that is still this node's under the epoch it holds. */
  async #renewHeld(held: ReadonlyMap<number, number>): Promise<ReadonlyMap<number, number>> {
    const { epochs, lost }: Fenced = await this.#fencing.renew(held);
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
