// Fires a claimed schedule: plans its occurrences, records them and advances the schedule in PostgreSQL, then updates
// Redis in one step.
//
// A crash between PostgreSQL and Redis only repeats harmless work: the claim expires, the row shows that the schedule
// was advanced, and its entry moves to its next time. The rescue sweep, which a new owner runs at once, finds
// occurrences that were recorded but not queued. A schedule that was edited, paused or deleted meanwhile fires nothing:
// its row decides where its entry belongs.

import type { Clock } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import type { Message } from '../domain/message.js';
import { type OccurrenceSettings, planOccurrences } from '../domain/occurrence.js';
import { tierOf, type TierBounds } from '../domain/tier.js';
import type { ScheduleKeyOfEntry } from '../redis/keys.js';
import type { Enqueuer } from '../redis/enqueuer.js';
import { encodePayload } from '../redis/payload.js';
import type { QueueEntry, ShardQueue, Firing as QueueFiring } from '../redis/shard-queue.js';
import type { Fired } from '../postgres/schedules/fires.js';
import { GroupCommit } from '../postgres/group-commit.js';
import type { ClaimedSchedule, Recorder } from '../postgres/messages/recorder.js';

export interface FiringSettings extends OccurrenceSettings {
  readonly tiers: TierBounds;
  readonly inlineMaxBytes: number;
}

export interface ClaimedEntry {
  readonly shard: number;
  readonly epoch: number;
  readonly entry: string;
  readonly key: ScheduleKeyOfEntry;
  /**
   * Returns the current token of the claim. Called when the end of the claim is sent to Redis: any later claim is a new
   * one.
   */
  readonly tokenAtEnd: () => string;
}

/** Firings of one shard that one script call sends to Redis. */
const QUEUE_GROUP = { maxItems: 100, maxGroups: 1 } as const;
const MAX_SHARD_GROUPS = 8_192;

type FiringOfShard = QueueFiring & { readonly epoch: number };

export class Firing {
  readonly #recorder: Recorder;
  readonly #queue: ShardQueue;
  readonly #enqueuer: Pick<Enqueuer, 'enqueue'>;
  readonly #clock: Clock;
  readonly #settings: FiringSettings;
  readonly #wake: (shard: number, dueAtMs: number) => void;
  readonly #onFired: (fired: Fired) => void;
  readonly #groups = new Map<number, GroupCommit<FiringOfShard, undefined>>();

  constructor(parts: {
    recorder: Recorder;
    queue: ShardQueue;
    enqueuer: Pick<Enqueuer, 'enqueue'>;
    clock: Clock;
    settings: FiringSettings;
    wake: (shard: number, dueAtMs: number) => void;
    /** Counts what was recorded. */
    onFired?: (fired: Fired) => void;
  }) {
    this.#recorder = parts.recorder;
    this.#queue = parts.queue;
    this.#enqueuer = parts.enqueuer;
    this.#clock = parts.clock;
    this.#settings = parts.settings;
    this.#wake = parts.wake;
    this.#onFired = parts.onFired ?? (() => undefined);
  }

  /**
   * Resolves when the occurrences are recorded and queued, and the schedule's entry is at its next time or removed.
   * Resolves with `fenced` when PostgreSQL has another epoch for the shard; nothing was done then.
   */
  async fire(claimed: ClaimedEntry): Promise<'done' | 'fenced'> {
    const found = await this.#recorder.readSchedule(claimed.key);
    const nowMs = Math.floor(this.#clock.nowMs());
    // In another shard's queue it could never fire, since its own shard's epoch decides. The sweep finds it in its own.
    const isHere = found?.schedule.shard === claimed.shard;
    if (found?.schedule.state !== 'active' || found.schedule.nextFireAtMs === null || !isHere) {
      await this.#toQueue(claimed, { nextAtMs: null, generation: found?.schedule.generation ?? 0, messages: [] });
      return 'done';
    }
    const { schedule } = found;
    // The entry was due by Redis's clock. The row decides, and this node's estimate of that clock may be slightly
    // behind.
    if (found.schedule.nextFireAtMs > nowMs + CLOCK_TOLERANCE_MS) {
      await this.#toQueue(claimed, {
        nextAtMs: found.schedule.nextFireAtMs,
        generation: schedule.generation,
        messages: [],
      });
      return 'done';
    }
    return this.#record(claimed, found, Math.max(nowMs, found.schedule.nextFireAtMs));
  }

  async #record(claimed: ClaimedEntry, found: ClaimedSchedule, nowMs: number): Promise<'done' | 'fenced'> {
    const { schedule } = found;
    const plan = planOccurrences(schedule, found, this.#settings, nowMs);
    const fired = await this.#recorder.fire({ schedule, epoch: claimed.epoch, ...plan });
    if (fired.result === 'fenced') return 'fenced';
    if (fired.result === 'changed') {
      await this.#retryFiring(claimed);
      return 'done';
    }
    this.#onFired(fired);
    const released = fired.released.map(({ id, dueAtMs }) => ({ id, dueAtMs, payload: '' }));
    const recorded = fired.messages.map((message) => this.#entryOf(message, nowMs, fired.fresh.has(message)));
    const messages = [...recorded, ...released];
    try {
      await this.#toQueue(claimed, { nextAtMs: plan.nextFireAtMs, generation: schedule.generation, messages });
    } catch (error) {
      this.#enqueueAgain(schedule.shard, [{ messages }]);
      throw error;
    }
    return 'done';
  }

  /**
   * Enqueues recorded occurrences until Redis accepts them (it is unavailable, or full), so that they need not wait for
   * a sweep.
   */
  #enqueueAgain(shard: number, firings: readonly Pick<QueueFiring, 'messages'>[]): void {
    for (const { id, dueAtMs } of firings.flatMap(({ messages }) => messages)) {
      this.#enqueuer.enqueue(shard, { id, dueAtMs, payload: '' });
    }
  }

  /** Moves the entry to the time in its row, without firing. */
  async #retryFiring(claimed: ClaimedEntry): Promise<void> {
    const found = await this.#recorder.readSchedule(claimed.key);
    const active = found?.schedule.state === 'active' ? found.schedule : null;
    await this.#toQueue(claimed, {
      nextAtMs: active?.nextFireAtMs ?? null,
      generation: found?.schedule.generation ?? 0,
      messages: [],
    });
  }

  #entryOf(message: Message, nowMs: number, isFresh: boolean): QueueEntry {
    const isImmediate = tierOf(message.dueAtMs, nowMs, this.#settings.tiers) === 'immediate';
    const payload = isImmediate && isFresh ? encodePayload(message, this.#settings.inlineMaxBytes) : '';
    return { id: message.id, dueAtMs: message.dueAtMs, payload, createdAtMs: message.createdAtMs };
  }

  async #toQueue(
    { shard, epoch, entry, tokenAtEnd }: ClaimedEntry,
    firing: Pick<QueueFiring, 'nextAtMs' | 'generation' | 'messages'>,
  ): Promise<void> {
    await this.#groupOf(shard).add({ entry, token: tokenAtEnd(), epoch, ...firing });
    const soonestMs = Math.min(firing.nextAtMs ?? Infinity, ...firing.messages.map(({ dueAtMs }) => dueAtMs));
    this.#wake(shard, soonestMs);
  }

  #groupOf(shard: number): GroupCommit<FiringOfShard, undefined> {
    const known = this.#groups.get(shard);
    if (known !== undefined) return known;
    if (this.#groups.size >= MAX_SHARD_GROUPS) this.#groups.clear();
    const group = new GroupCommit<FiringOfShard, undefined>(QUEUE_GROUP, async (firings) => {
      // The oldest epoch decides: firings from before a renewal are refused, and their messages are enqueued without
      // payload.
      const epoch = Math.min(...firings.map((firing) => firing.epoch));
      const reply = await this.#queue.fire(shard, epoch, firings);
      // Refused: the claims expire, and the owner of the shard reads the rows.
      if (reply === 'in-part') this.#enqueueAgain(shard, firings);
      else if (reply !== 'fired')
        throw new CarillonError('REDIS_UNAVAILABLE', `shard ${shard} was fenced while firing`);
      return firings.map(() => undefined);
    });
    this.#groups.set(shard, group);
    return group;
  }
}

/** This node's estimate of Redis's clock may be this far behind it. */
const CLOCK_TOLERANCE_MS = 50;
