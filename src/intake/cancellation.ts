// Cancels messages. After an acknowledged cancel no call of the message starts.
//
// The cancel is committed first. Then there are three ways in which the message could still be sent, and each is closed
// before the cancel is confirmed and acknowledged.
//
// The entry waits in Redis with a payload, which is sent without reading the row: Redis must confirm the tombstone. If
// it does not, the cancel stays unconfirmed, and repeating the request completes it.
//
// The entry has no payload: whoever claims it reads the row. The commit suffices, whether or not Redis is available.
//
// The entry is claimed: the call has started, or starts only if the row still allows it (domain/cancel-times.ts). The
// cancel waits for the end of the claim, and for a call in progress no longer than until it must have started. A
// success meanwhile corrects the row, and then nothing was canceled.

import { CANCEL_WAIT_MS } from '../domain/cancel-times.js';
import type { Clock, ProcessTime } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import { type MessageId, messageIdTimeMs } from '../domain/ids.js';
import type { Enqueuer } from '../redis/enqueuer.js';
import type { CancelResult } from '../redis/shard-queue.js';
import { type Canceled, cancelMessages, confirmCancels } from '../postgres/messages/cancels.js';
import type { Database } from '../postgres/database.js';
import { lookUntil, releaseHeld } from '../postgres/messages/outcomes.js';

/** Interval at which the cancel checks whether a claim ended. */
const CHECK_EVERY_MS = 50;
/** Largest difference between this node's estimate of Redis's clock and that of the claiming node. */
const CLOCK_TOLERANCE_MS = 2_000;

export interface CancellationSettings {
  readonly idempotencyMs: number;
  /** A message that was due later than this after its creation never had a payload in Redis. */
  readonly payloadWithinMs: number;
  readonly inlineMaxBytes: number;
}

/** Reports cancels that are committed but not confirmed. Repeating the request for the same messages completes them. */
export class UnconfirmedCancelError extends CarillonError {
  constructor(
    readonly unconfirmed: number,
    readonly canceled: number,
  ) {
    const [messages, are] = unconfirmed === 1 ? ['message', 'is'] : ['messages', 'are'];
    const others =
      canceled === 0
        ? ''
        : `; ${canceled} other ${canceled === 1 ? 'message is' : 'messages are'} canceled for certain`;
    super(
      'REDIS_UNAVAILABLE',
      `Redis is unavailable and did not confirm the cancel of ${unconfirmed} ${messages}, which ${are} canceled in PostgreSQL and may still be sent once${others}: cancel again`,
    );
  }
}

type Found = ReadonlyMap<MessageId, CancelResult>;

export class Cancellation {
  readonly #database: Database;
  readonly #enqueuer: Pick<Enqueuer, 'cancel' | 'enqueue'>;
  readonly #clock: Clock;
  readonly #time: ProcessTime;
  readonly #settings: CancellationSettings;

  constructor(parts: {
    database: Database;
    enqueuer: Pick<Enqueuer, 'cancel' | 'enqueue'>;
    clock: Clock;
    time: ProcessTime;
    settings: CancellationSettings;
  }) {
    this.#database = parts.database;
    this.#enqueuer = parts.enqueuer;
    this.#clock = parts.clock;
    this.#time = parts.time;
    this.#settings = parts.settings;
  }

  /** Returns the messages whose cancel is confirmed by this call. Throws UnconfirmedCancelError when some are not. */
  async cancel(tenantId: number, ids: readonly MessageId[]): Promise<MessageId[]> {
    const nowMs = Math.ceil(this.#clock.nowMs());
    const keysUntilMs = nowMs + this.#settings.idempotencyMs;
    const canceled = await cancelMessages(this.#database, tenantId, ids, { nowMs, keysUntilMs });
    if (canceled.length === 0) return [];
    const found = await this.#putTombstones(canceled);
    await this.#releaseAfter(tenantId, canceled);
    const unconfirmed = canceled.filter((message) => !found.has(message.id) && this.#mayHavePayload(message));
    const others = canceled.filter((message) => !unconfirmed.includes(message));
    await this.#untilStartedOrEnded(others, found);
    const confirmed = await confirmCancels(
      this.#database,
      tenantId,
      others.map(({ id }) => id),
    );
    if (unconfirmed.length > 0) throw new UnconfirmedCancelError(unconfirmed.length, confirmed.length);
    return confirmed;
  }

  /** Returns the result of Redis for each message; without those that Redis did not answer for. */
  async #putTombstones(messages: readonly Pick<Canceled, 'id' | 'shard'>[]): Promise<Found> {
    const byShard = new Map<number, MessageId[]>();
    for (const { shard, id } of messages) {
      const ids = byShard.get(shard);
      if (ids === undefined) byShard.set(shard, [id]);
      else ids.push(id);
    }
    const found = new Map<MessageId, CancelResult>();
    const cancel = async ([shard, ids]: [number, MessageId[]]): Promise<void> => {
      const results = await this.#enqueuer.cancel(shard, ids);
      results?.forEach((result, index) => found.set(ids[index] ?? '', result));
    };
    await Promise.all([...byShard].map(cancel));
    return found;
  }

  #mayHavePayload({ attempts, dueAtMs, createdAtMs, bodyBytes }: Canceled): boolean {
    const { payloadWithinMs, inlineMaxBytes } = this.#settings;
    return attempts === 0 && dueAtMs - createdAtMs <= payloadWithinMs && bodyBytes <= inlineMaxBytes;
  }

  /** Waits for the known and possible claims of messages until they ended or their calls must have started. */
  async #untilStartedOrEnded(messages: readonly Canceled[], found: Found): Promise<void> {
    const untilMs = this.#time.monotonicMs() + CANCEL_WAIT_MS;
    const dueByMs = this.#clock.nowMs() + CLOCK_TOLERANCE_MS;
    let claimed = messages.filter(({ id }) => found.get(id) === 'in-flight');
    // A due message that Redis does not have may have been claimed a moment ago, before Redis lost data.
    let isUnsure = messages.some(
      ({ id, nextAttemptAtMs }) => (found.get(id) ?? 'absent') === 'absent' && nextAttemptAtMs <= dueByMs,
    );
    while ((claimed.length > 0 || isUnsure) && this.#time.monotonicMs() < untilMs) {
      await this.#pause(CHECK_EVERY_MS);
      const now = claimed.length === 0 ? new Map() : await this.#putTombstones(claimed);
      if (claimed.some(({ id }) => !now.has(id))) isUnsure = true;
      claimed = claimed.filter(({ id }) => now.get(id) === 'in-flight');
    }
  }

  #pause(durationMs: number): Promise<void> {
    return new Promise((resolve) => this.#time.after(durationMs, resolve));
  }

  /** Releases the occurrences that waited for what was canceled. */
  async #releaseAfter(tenantId: number, canceled: readonly Canceled[]): Promise<void> {
    const ids = new Set(canceled.flatMap(({ scheduleToRelease }) => scheduleToRelease ?? []));
    const schedules = [...ids].map((scheduleId) => ({ tenantId, scheduleId }));
    const untilId = lookUntil(
      Math.ceil(this.#clock.nowMs()),
      canceled.map(({ id }) => messageIdTimeMs(id)),
    );
    for (const { id, shard, dueAtMs } of await releaseHeld(this.#database, schedules, untilId)) {
      this.#enqueuer.enqueue(shard, { id, dueAtMs, payload: '' });
    }
  }
}
