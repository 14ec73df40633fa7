// Holds this node's shards: takes them with new epochs, fences the queue, runs an actor for each, and renews what Redis lost.
//
// Today one node takes every shard. A second node on the same stores would take them all from the first, whose decisions are then
// refused by their epoch: it stops its actors and harms nothing.

import type { Logger } from 'pino';
import type { ActorParts } from '../actor/shard-actor.js';
import { ShardActor } from '../actor/shard-actor.js';
import type { Sweeper } from '../actor/sweeper.js';
import type { Fence, ShardQueue } from '../queue/shard-queue.js';
import type { Database } from '../table/database.js';
import { grantEpochs, overtakeEpochs, renewEpochs } from '../table/epochs.js';
import { GroupCommit } from '../table/group-commit.js';

export interface HolderSettings {
  readonly node: string;
  readonly shards: number;
  readonly touchMs: number;
  readonly drainMs: number;
}

/** `refusedEpoch` null: renew whatever the actor's epoch is. */
interface Renewal {
  readonly shard: number;
  readonly refusedEpoch: number | null;
  readonly refill: boolean;
}

/** Fences that are sent to Redis before their answers are awaited. */
const FENCES_AT_ONCE = 64;

export class ShardHolder {
  readonly #database: Database;
  readonly #queue: ShardQueue;
  readonly #sweeper: Sweeper;
  readonly #settings: HolderSettings;
  readonly #log: Logger;
  readonly #actors = new Map<number, ShardActor>();
  readonly #renewals: GroupCommit<Renewal, number | null>;
  #toucher: NodeJS.Timeout | null = null;
  #stopping: Promise<void> | null = null;

  constructor(parts: {
    database: Database;
    queue: ShardQueue;
    sweeper: Sweeper;
    settings: HolderSettings;
    log: Logger;
  }) {
    this.#database = parts.database;
    this.#queue = parts.queue;
    this.#sweeper = parts.sweeper;
    this.#settings = parts.settings;
    this.#log = parts.log;
    this.#renewals = new GroupCommit({ maxItems: parts.settings.shards, maxGroups: 1 }, (renewals) =>
      this.#renew(renewals),
    );
  }

  /** Shards whose actors run. */
  get owned(): number {
    return [...this.#actors.values()].filter((actor) => !actor.isStopping).length;
  }

  /** Deliveries and firings under way. */
  get inFlight(): number {
    return [...this.#actors.values()].reduce((sum, actor) => sum + actor.inFlight, 0);
  }

  /** Takes every shard: one statement for the epochs, one fence for each shard, nothing else is read. */
  async takeAll(partsOf: () => ActorParts): Promise<void> {
    const startedAtMs = performance.now();
    const shards = Array.from({ length: this.#settings.shards }, (_, shard) => shard);
    const granted = await grantEpochs(this.#database, this.#settings.node, shards);
    const { epochs, lost } = await this.#fence(granted);
    const parts = partsOf();
    for (const [shard, epoch] of epochs) {
      const actor = new ShardActor(shard, epoch, parts);
      this.#actors.set(shard, actor);
      actor.start();
      this.#sweeper.add(actor, lost.has(shard));
    }
    this.#toucher = setInterval(() => void this.#touchAll(), this.#settings.touchMs);
    const durationMs = Math.round(performance.now() - startedAtMs);
    this.#log.info({ shards: epochs.size, queueLost: lost.size, durationMs }, 'shards taken');
  }

  /** Wakes a shard's actor if it is here and sleeps beyond this time. */
  wake(shard: number, dueAtMs: number): void {
    this.#actors.get(shard)?.wake(dueAtMs);
  }

  /**
   * The epoch to go on with for a shard whose epoch Redis refused: a new one when its state is gone, the present one when that is newer
   * than the refused one, which a claim that was under way during a renewal cannot know. Null when the shard has another owner by now.
   */
  refence(shard: number, refusedEpoch: number): Promise<number | null> {
    return this.#renewals.add({ shard, refusedEpoch, refill: false });
  }

  /** Redis went away: what it will have when it is back may be older than what it was told. */
  redisIsAway(): void {
    for (const actor of this.#actors.values()) actor.distrust();
  }

  /**
   * Redis is back after it was away: every shard gets a new epoch and is fenced again. If it is another run of Redis (`restarted`), it may
   * have forgotten what it was told last, and every shard is filled again from the table.
   */
  async redisIsBack(restarted: boolean): Promise<void> {
    const actors = [...this.#actors.values()].filter((actor) => !actor.isStopping);
    await this.#renewals.addAll(actors.map(({ shard }) => ({ shard, refusedEpoch: null, refill: restarted })));
  }

  /** Stops claiming, waits for what is under way up to the drain limit, gives back the rest. May be called again. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    await Promise.all([...this.#actors.values()].map((actor) => this.#stopActor(actor)));
    if (this.#toucher !== null) clearInterval(this.#toucher);
    await this.#sweeper.stop();
  }

  async #stopActor(actor: ShardActor): Promise<void> {
    this.#sweeper.remove(actor.shard);
    try {
      await actor.stop(this.#settings.drainMs);
    } catch (error) {
      this.#log.warn({ err: error, shard: actor.shard }, 'a shard could not be handed back in order');
    }
  }

  async #touchAll(): Promise<void> {
    // What cannot be touched while Redis is away lapses, and the table is asked before it is sent again.
    await Promise.allSettled([...this.#actors.values()].map((actor) => actor.touch()));
  }

  async #renew(renewals: Renewal[]): Promise<(number | null)[]> {
    const held = new Map<number, number>();
    for (const { shard, refusedEpoch } of renewals) {
      const epoch = this.#actors.get(shard)?.epoch ?? 0;
      if (refusedEpoch === null || refusedEpoch === epoch) held.set(shard, epoch);
    }
    const refill = renewals.some((renewal) => renewal.refill);
    const epochs = held.size === 0 ? new Map<number, number>() : await this.#renewHeld(held, refill);
    return renewals.map(({ shard }) => (held.has(shard) ? epochs.get(shard) : this.#actors.get(shard)?.epoch) ?? null);
  }

  /** Grants and installs a new epoch for each shard that is still this node's under the epoch it holds. */
  async #renewHeld(held: ReadonlyMap<number, number>, refill: boolean): Promise<Map<number, number>> {
    const renewed = await renewEpochs(this.#database, this.#settings.node, held);
    const { epochs, lost } = await this.#fence(renewed, refill);
    for (const [shard, epoch] of epochs) {
      const actor = this.#actors.get(shard);
      if (actor === undefined || actor.isStopping) continue;
      actor.renew(epoch);
      this.#sweeper.add(actor, lost.has(shard));
    }
    this.#log.warn(
      { renewed: epochs.size, taken: held.size - epochs.size, queueLost: lost.size },
      'epochs renewed after the queue was away or lost',
    );
    return epochs;
  }

  /**
   * Installs granted epochs in the queue. Gives those that hold, and which shards have to be filled again: their state was not there,
   * or was newer than the table, as after a backup of the table was restored.
   */
  async #fence(
    granted: ReadonlyMap<number, number>,
    refill = false,
  ): Promise<{ epochs: Map<number, number>; lost: Set<number> }> {
    const epochs = new Map(granted);
    const lost = new Set<number>();
    const newer = new Map<number, number>();
    await this.#fenceEach(granted, refill, (shard, fence) => {
      if (!fence.installed) newer.set(shard, fence.previousEpoch ?? 0);
      else if (refill || fence.completedAtMs === 0) lost.add(shard);
    });
    if (newer.size === 0) return { epochs, lost };
    const overtaken = await overtakeEpochs(this.#database, this.#settings.node, newer);
    this.#log.warn({ shards: overtaken.size }, 'the queue had newer epochs than the table: was a backup restored?');
    for (const shard of newer.keys()) epochs.delete(shard);
    await this.#fenceEach(overtaken, true, (shard, fence) => {
      if (!fence.installed) return;
      epochs.set(shard, overtaken.get(shard) ?? 0);
      lost.add(shard);
    });
    return { epochs, lost };
  }

  async #fenceEach(
    epochs: ReadonlyMap<number, number>,
    refill: boolean,
    told: (shard: number, fence: Fence) => void,
  ): Promise<void> {
    const all = [...epochs];
    for (let start = 0; start < all.length; start += FENCES_AT_ONCE) {
      await Promise.all(
        all.slice(start, start + FENCES_AT_ONCE).map(async ([shard, epoch]) => {
          told(shard, await this.#queue.fence(shard, epoch, refill));
        }),
      );
    }
  }
}
