// The intake of a node: commits to PostgreSQL, then enqueues in Redis, then wakes the actor. intake.ts states the
// contract.

import type { OnSkipped } from '../postgres/schedules/passed-over.js';
import type { RandomBytes, Clock, ProcessTime } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import { ID_RANDOM_BYTES, type MessageId } from '../domain/ids.js';
import type { Message } from '../domain/message.js';
import { manualMessage } from '../domain/occurrence.js';
import type { Schedule, ScheduleDefinition } from '../domain/schedule.js';
import { stateAfterResume, stateAfterSave } from '../domain/schedule-change.js';
import { shardOfSchedule } from '../domain/shard.js';
import { type Tier, tierOf, type TierBounds } from '../domain/tier.js';
import { scheduleEntry } from '../redis/keys.js';
import type { Enqueuer } from '../redis/enqueuer.js';
import { encodePayload } from '../redis/payload.js';
import type { Acceptance, Submission } from '../postgres/messages/accepts.js';
import type { Database } from '../postgres/database.js';
import { repeatDeadLetters } from '../postgres/messages/dead-letters.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import { type BatchResult, type Placed, saveScheduleBatch } from '../postgres/schedules/schedule-batches.js';
import { changeScheduleState, deleteSchedule, saveSchedule } from '../postgres/schedules/schedules.js';
import { getSchedule } from '../postgres/schedules/schedule-reads.js';
import { Cancellation } from './cancellation.js';
import type { DeadLetterRetry, Intake, ScheduleToSave } from './intake.js';

/** Work due later than this can be enqueued a moment later. */
const ENQUEUE_LATER_MS = 60_000;

export interface IntakeSettings {
  readonly shards: number;
  readonly tiers: TierBounds;
  /** Work due later than this is not enqueued: the sweep will find it. At least as far as any announced horizon. */
  readonly enqueueWithinMs: number;
  readonly inlineMaxBytes: number;
  /** Payloads that arrive in Redis later than this after their message was created are not kept. */
  readonly payloadFreshMs: number;
  readonly idempotencyMs: number;
}

/**
 * Counts messages by the result of accepting them. `failed` as far as is known: PostgreSQL was unavailable, or refused
 * them.
 */
export type OnAccept = (result: 'accepted' | 'deduplicated' | 'failed', messages: number) => void;

/** Counts messages that were accepted, by how soon they are due. */
export type OnTier = (tier: Tier, messages: number) => void;

/** The operations of the enqueuer that the intake uses. */
export type IntakeEnqueuer = Pick<Enqueuer, 'enqueue' | 'enqueueLater' | 'reschedule' | 'cancel'>;

export class NodeIntake implements Intake {
  readonly #database: Database;
  readonly #recorder: Recorder;
  readonly #enqueuer: IntakeEnqueuer;
  readonly #clock: Clock;
  readonly #random: RandomBytes;
  readonly #settings: IntakeSettings;
  readonly #cancellation: Cancellation;
  readonly #onAccept: OnAccept;
  readonly #onTier: OnTier;
  readonly #onSkipped: OnSkipped;

  constructor(parts: {
    database: Database;
    recorder: Recorder;
    enqueuer: IntakeEnqueuer;
    clock: Clock;
    time: ProcessTime;
    random: RandomBytes;
    settings: IntakeSettings;
    onAccept?: OnAccept;
    onTier?: OnTier;
    onSkipped?: OnSkipped;
  }) {
    this.#database = parts.database;
    this.#recorder = parts.recorder;
    this.#enqueuer = parts.enqueuer;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#settings = parts.settings;
    const { tiers, payloadFreshMs, inlineMaxBytes, idempotencyMs } = parts.settings;
    this.#cancellation = new Cancellation({
      ...parts,
      settings: { idempotencyMs, inlineMaxBytes, payloadWithinMs: tiers.immediateMs + payloadFreshMs },
    });
    this.#onAccept = parts.onAccept ?? (() => undefined);
    this.#onTier = parts.onTier ?? (() => undefined);
    this.#onSkipped = parts.onSkipped ?? (() => undefined);
  }

  async accept(submissions: readonly Submission[]): Promise<Acceptance[]> {
    const acceptances = await this.#commit(submissions);
    const nowMs = this.#clock.nowMs();
    const counts = { immediate: 0, hot: 0, cold: 0 };
    submissions.forEach(({ message }, index) => {
      if (acceptances[index]?.deduplicated !== false) return;
      counts[tierOf(message.dueAtMs, nowMs, this.#settings.tiers)] += 1;
      this.#enqueue(message);
    });
    for (const tier of ['immediate', 'hot', 'cold'] as const) if (counts[tier] > 0) this.#onTier(tier, counts[tier]);
    return acceptances;
  }

  cancel(tenantId: number, ids: readonly MessageId[]): Promise<MessageId[]> {
    return this.#cancellation.cancel(tenantId, ids);
  }

  async saveSchedule(tenantId: number, id: string, definition: ScheduleDefinition): Promise<Schedule> {
    const nowMs = this.#nowMs();
    const shard = shardOfSchedule(tenantId, id, this.#settings.shards);
    const { schedule, changed } = await saveSchedule(
      this.#database,
      { tenantId, id, shard, definition },
      (existing) => stateAfterSave(existing, definition, nowMs),
      nowMs,
      this.#onSkipped,
    );
    if (changed) await this.#reschedule(schedule);
    return schedule;
  }

  async saveSchedules(tenantId: number, schedules: readonly ScheduleToSave[]): Promise<BatchResult[]> {
    const nowMs = this.#nowMs();
    const wanted = schedules.map((schedule) => ({
      ...schedule,
      shard: shardOfSchedule(tenantId, schedule.id, this.#settings.shards),
    }));
    return saveScheduleBatch(this.#database, tenantId, wanted, {
      decide: ({ definition, paused }, existing) => {
        const next = stateAfterSave(existing, definition, nowMs);
        return paused ? { state: 'paused', nextFireAtMs: null } : next;
      },
      nowMs,
      onGroup: (placed) => this.#rescheduleAll(tenantId, placed, nowMs),
      onSkipped: this.#onSkipped,
    });
  }

  async pauseSchedule(tenantId: number, id: string): Promise<Schedule> {
    return this.#changeState(tenantId, id, (existing) =>
      existing.state === 'paused' ? null : { state: 'paused', nextFireAtMs: null },
    );
  }

  async resumeSchedule(tenantId: number, id: string): Promise<Schedule> {
    const nowMs = this.#nowMs();
    return this.#changeState(tenantId, id, (existing) =>
      existing.state === 'paused' ? stateAfterResume(existing, nowMs) : null,
    );
  }

  async deleteSchedule(tenantId: number, id: string): Promise<boolean> {
    const deleted = await deleteSchedule(this.#database, { tenantId, id }, this.#nowMs(), this.#onSkipped);
    if (deleted === null) return false;
    await this.#enqueuer.reschedule(deleted.shard, scheduleEntry(tenantId, id), null, deleted.generation);
    return true;
  }

  async triggerSchedule(tenantId: number, id: string, depth = 0): Promise<MessageId> {
    const schedule = await getSchedule(this.#database, tenantId, id);
    if (schedule === null) throw noSuchSchedule(id);
    const random = this.#random(ID_RANDOM_BYTES);
    const message = manualMessage(schedule, this.#nowMs(), random, this.#settings.shards, depth);
    await this.accept([{ message, keys: [] }]);
    return message.id;
  }

  async retryDeadLetters(
    tenantId: number,
    retries: readonly DeadLetterRetry[],
  ): Promise<{ from: MessageId; to: MessageId }[]> {
    const taken = await repeatDeadLetters(this.#database, tenantId, retries);
    for (const { message } of taken) this.#enqueue(message);
    return taken.map(({ from, message }) => ({ from, to: message.id }));
  }

  async #commit(submissions: readonly Submission[]): Promise<Acceptance[]> {
    try {
      const acceptances = await this.#recorder.accept(submissions);
      const duplicates = acceptances.filter(({ deduplicated }) => deduplicated).length;
      this.#onAccept('accepted', acceptances.length - duplicates);
      if (duplicates > 0) this.#onAccept('deduplicated', duplicates);
      return acceptances;
    } catch (error) {
      this.#onAccept('failed', submissions.length);
      throw error;
    }
  }

  async #changeState(
    tenantId: number,
    id: string,
    decide: Parameters<typeof changeScheduleState>[2],
  ): Promise<Schedule> {
    const saved = await changeScheduleState(this.#database, { tenantId, id }, decide, this.#nowMs(), this.#onSkipped);
    if (saved === null) throw noSuchSchedule(id);
    if (saved.changed) await this.#reschedule(saved.schedule);
    return saved.schedule;
  }

  async #reschedule(schedule: Schedule): Promise<void> {
    const { shard, tenantId, id, nextFireAtMs, generation } = schedule;
    await this.#enqueuer.reschedule(shard, scheduleEntry(tenantId, id), nextFireAtMs, generation);
  }

  /** Moves the entries of saved schedules in Redis; a new schedule that fires beyond every horizon needs none. */
  async #rescheduleAll(tenantId: number, placed: readonly Placed[], nowMs: number): Promise<void> {
    const untilMs = nowMs + this.#settings.enqueueWithinMs;
    const near = placed.filter(
      ({ generation, nextFireAtMs }) => generation > 1 || (nextFireAtMs !== null && nextFireAtMs <= untilMs),
    );
    await Promise.all(
      near.map(({ id, shard, nextFireAtMs, generation }) =>
        this.#enqueuer.reschedule(shard, scheduleEntry(tenantId, id), nextFireAtMs, generation),
      ),
    );
  }

  #enqueue(message: Message): void {
    const nowMs = this.#clock.nowMs();
    if (message.dueAtMs - nowMs > this.#settings.enqueueWithinMs) return;
    const isImmediate = tierOf(message.dueAtMs, nowMs, this.#settings.tiers) === 'immediate';
    const { id, shard, dueAtMs, createdAtMs } = message;
    if (!isImmediate && dueAtMs - nowMs > ENQUEUE_LATER_MS) {
      this.#enqueuer.enqueueLater(shard, { id, dueAtMs, payload: '' });
      return;
    }
    const payload = isImmediate ? encodePayload(message, this.#settings.inlineMaxBytes) : '';
    this.#enqueuer.enqueue(shard, { id, dueAtMs, payload, createdAtMs });
  }

  /** Returns the time in whole milliseconds, as PostgreSQL stores it. */
  #nowMs(): number {
    return Math.ceil(this.#clock.nowMs());
  }
}

function noSuchSchedule(id: string): CarillonError {
  return new CarillonError('NOT_FOUND', `schedule ${id} not found`);
}
