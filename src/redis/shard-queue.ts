// The operations on a shard's queue: the Lua scripts with their types.
//
// Payloads. An entry may carry the data that its delivery needs, so that an immediate message costs no read of
// PostgreSQL. A payload is used only for a message's first attempt, and only when nobody can have delivered the message
// before:
//   - accept and fire keep it only while it is at most `payloadFreshMs` old; the sweep that could queue the same row
//     (rescue) leaves rows alone until they are at least twice as old, so a late enqueue never carries a payload;
//   - the sweep (promote) that refills a shard that was lost, or whose horizon has passed, reads rows of any age, so no
//     payload is kept meanwhile, nor later for rows that it may have read (lua/include/fresh.lua);
//   - a claim that expires loses it, a retry does not restore it, sweeps never carry one;
//   - a claim that was not sent, because its host was at its limit, may restore it with its token (settle), which works
//     only while nobody else can have claimed the entry, and not for an entry that was canceled meanwhile.
//
// An entry without a payload is read from PostgreSQL at dispatch, and its row decides what to do: a message that may
// have been sent already is always looked up first.

import type { Cluster, Redis } from 'ioredis';
import type { Clock } from '../domain/clock.js';
import type { MessageId } from '../domain/ids.js';
import { type ShardKeys, shardKeys } from './keys.js';
import { askRuns, type RunOfKey } from './redis-runs.js';
import { isFull, redisError, Script } from './script.js';

export interface QueueEntry {
  /** A message id, or `scheduleEntry(...)`. */
  readonly id: string;
  readonly dueAtMs: number;
  /** '' for none; for a schedule its generation. */
  readonly payload: string;
  /** When the message was created, before it was committed: its payload is not kept without it. */
  readonly createdAtMs?: number;
}

export interface Claim {
  readonly id: string;
  readonly token: string;
  readonly payload: string;
  /** The entry's score: its due time, or the time at which it came back. */
  readonly dueAtMs: number;
}

/** `lost`: the shard's state is missing. `stale`: a newer epoch is installed, the caller is no longer the owner. */
export type Refusal = { readonly kind: 'lost' } | { readonly kind: 'stale' };

/**
 * The claim arrived too late by Redis's clock and claimed nothing. The caller knows that clock better now and claims
 * again.
 */
export interface LateClaim {
  readonly kind: 'late';
}

export interface Claimed {
  readonly kind: 'claimed';
  readonly claims: readonly Claim[];
  /** Redis's clock. */
  readonly nowMs: number;
  readonly nextDueAtMs: number | null;
  readonly nextExpiryAtMs: number | null;
}

export interface Fence {
  readonly installed: boolean;
  /** The epoch that was stored before, or the newer one that stays installed; null when the state was missing. */
  readonly previousEpoch: number | null;
  readonly announcedAtMs: number;
  readonly completedAtMs: number;
}

export interface Settlement {
  readonly id: string;
  readonly token: string;
  /** When the entry comes back; null when it is finished. */
  readonly backAtMs: number | null;
  /** The payload of the claim, for an entry that comes back without having been sent. */
  readonly payload?: string;
}

export interface Firing {
  readonly entry: string;
  readonly token: string;
  readonly nextAtMs: number | null;
  readonly generation: number;
  readonly messages: readonly QueueEntry[];
}

export type RescheduleResult = 'out' | 'queued' | 'in-flight' | 'outdated';
export type CancelResult = 'taken-out' | 'in-flight' | 'absent';

export interface QueueTimes {
  /** How long the caller waits for an answer of Redis. */
  readonly answerMs: number;
  readonly visibilityMs: number;
  readonly payloadFreshMs: number;
  readonly tombstoneMs: number;
}

/** Messages of occurrences that a shard accepts while Redis is full: about a hundred bytes each. */
const FULL_LIMIT = 1_000;

const scripts = {
  accept: new Script('accept'),
  cancel: new Script('cancel'),
  claim: new Script('claim'),
  fence: new Script('fence'),
  fire: new Script('fire'),
  fireWhenFull: new Script('fire', { allowOom: true }),
  promote: new Script('promote'),
  reschedule: new Script('reschedule'),
  settle: new Script('settle'),
  extendVisibility: new Script('extend-visibility'),
};

/**
 * The queue of every shard. Each method is one script on one shard; all throw REDIS_UNAVAILABLE when Redis is
 * unavailable.
 */
export class ShardQueue {
  readonly #redis: Redis | Cluster;
  readonly #times: QueueTimes;
  readonly #clock: Clock;
  readonly #keys: ShardKeys[] = [];
  readonly #prefix: string;
  /**
   * By how much the clock of a shard's server was ahead of the node's estimate at its last claim: masters of a cluster
   * may differ.
   */
  readonly #aheadMs = new Map<number, number>();

  #askingRuns: Promise<RunOfKey> | null = null;

  /** `clock` is the node's estimate of Redis's clock. */
  constructor(redis: Redis | Cluster, prefix: string, times: QueueTimes, clock: Clock) {
    this.#clock = clock;
    this.#redis = redis;
    this.#prefix = prefix;
    this.#times = times;
  }

  /**
   * Installs an epoch. Clears the horizons with `refill`, and when the last fence was installed in another run of
   * Redis, so that the next sweep refills the shard from PostgreSQL.
   */
  async fence(shard: number, epoch: number, refill = false): Promise<Fence> {
    const { state } = this.#of(shard);
    const runOf = await this.#askRuns();
    // No other server can run the script: it goes to the server that answered, or fails.
    const args = [epoch, runOf(state), refill ? 1 : 0];
    const reply = numbers(await scripts.fence.run(this.#redis, [state], args));
    const [installed = 0, previous = -1, announcedAtMs = 0, completedAtMs = 0] = reply;
    return {
      installed: installed === 1,
      previousEpoch: previous < 0 ? null : previous,
      announcedAtMs,
      completedAtMs,
    };
  }

  /** Enqueues committed work. Returns true when the shard's earliest entry changed, so that its actor must be woken. */
  async accept(shard: number, entries: readonly QueueEntry[]): Promise<boolean> {
    const args = [this.#times.payloadFreshMs, oldestPayloadMs(entries), ...entries.flatMap(entryArguments)];
    const reply = numbers(await scripts.accept.run(this.#redis, this.#allKeys(shard), args));
    return reply[0] === 1;
  }

  async claim(shard: number, epoch: number, limit: number): Promise<Claimed | LateClaim | Refusal> {
    const { due, inflight, task, state } = this.#of(shard);
    const answerByMs = Math.ceil(this.#clock.nowMs() + (this.#aheadMs.get(shard) ?? 0) + this.#times.answerMs);
    const args = [epoch, limit, this.#times.visibilityMs, answerByMs];
    const reply = (await scripts.claim.run(this.#redis, [due, inflight, task, state], args)) as (string | number)[];
    const refusal = refusalOf(reply[0]);
    if (refusal !== null) return refusal;
    this.#learnClock(shard, Number(reply[1]));
    if (reply[0] === 'LATE') return { kind: 'late' };
    const claims: Claim[] = [];
    for (let index = 4; index < reply.length; index += 4) {
      claims.push({
        id: String(reply[index]),
        token: String(reply[index + 1]),
        payload: String(reply[index + 2]),
        dueAtMs: Number(reply[index + 3]),
      });
    }
    return {
      kind: 'claimed',
      claims,
      nowMs: Number(reply[1]),
      nextDueAtMs: orNull(Number(reply[2])),
      nextExpiryAtMs: orNull(Number(reply[3])),
    };
  }

  /** Returns for each settlement whether its claim was still valid. */
  async settle(shard: number, settlements: readonly Settlement[]): Promise<boolean[]> {
    const { due, inflight, task, tomb } = this.#of(shard);
    const args = settlements.flatMap(({ id, token, backAtMs, payload }) => [id, token, backAtMs ?? '', payload ?? '']);
    return numbers(await scripts.settle.run(this.#redis, [due, inflight, task, tomb], args)).map(
      (isValid) => isValid === 1,
    );
  }

  async extendVisibility(shard: number, claims: readonly { id: string; token: string }[]): Promise<boolean[]> {
    const { inflight, task } = this.#of(shard);
    const args = [this.#times.visibilityMs, ...claims.flatMap(({ id, token }) => [id, token])];
    return numbers(await scripts.extendVisibility.run(this.#redis, [inflight, task], args)).map(
      (isValid) => isValid === 1,
    );
  }

  /**
   * Fires schedules. `in-part`: Redis is full; the schedules are at their next times, and some messages had no room and
   * must be enqueued again.
   */
  async fire(shard: number, epoch: number, firings: readonly Firing[]): Promise<'fired' | 'in-part' | Refusal> {
    const args = firings.flatMap(({ entry, token, nextAtMs, generation, messages }) => [
      ...[entry, token, nextAtMs ?? '', generation, messages.length],
      ...messages.flatMap(entryArguments),
    ]);
    const oldestMs = oldestPayloadMs(firings.flatMap(({ messages }) => messages));
    const run = async (script: Script, limit: number): Promise<(string | number)[]> => {
      const all = [epoch, this.#times.payloadFreshMs, oldestMs, limit, ...args];
      return (await script.run(this.#redis, this.#allKeys(shard), all)) as (string | number)[];
    };
    const reply = await run(scripts.fire, -1).catch((error: unknown) => {
      if (!isFull(error)) throw error;
      return run(scripts.fireWhenFull, FULL_LIMIT);
    });
    return refusalOf(reply[0]) ?? (reply[1] === 0 ? 'fired' : 'in-part');
  }

  /** Returns the announced and the completed horizon of the shard; 0 when its state is missing. */
  async horizons(shard: number): Promise<{ announcedAtMs: number; completedAtMs: number }> {
    try {
      const [announced, completed] = await this.#redis.hmget(this.#of(shard).state, 'announced', 'completed');
      return { announcedAtMs: Number(announced ?? 0), completedAtMs: Number(completed ?? 0) };
    } catch (error) {
      throw redisError(error);
    }
  }

  /** Announces the horizon up to which a sweep is about to read PostgreSQL. */
  async announce(shard: number, epoch: number, horizonAtMs: number): Promise<'done' | Refusal> {
    const reply = await this.#promote(shard, epoch, { announce: horizonAtMs, completed: '' }, []);
    return refusalOf(reply[0]) ?? 'done';
  }

  /** Marks a horizon as completely read. */
  async complete(shard: number, epoch: number, horizonAtMs: number): Promise<'done' | Refusal> {
    const reply = await this.#promote(shard, epoch, { announce: '', completed: horizonAtMs }, []);
    return refusalOf(reply[0]) ?? 'done';
  }

  /** Queues the rows of a sweep. `earliestChanged` as in accept. */
  async promote(
    shard: number,
    epoch: number,
    entries: readonly QueueEntry[],
  ): Promise<{ kind: 'promoted'; queued: number; earliestChanged: boolean } | Refusal> {
    const reply = await this.#promote(shard, epoch, { announce: '', completed: '' }, entries);
    return (
      refusalOf(reply[0]) ?? { kind: 'promoted', queued: Number(reply[1]), earliestChanged: Number(reply[2]) === 1 }
    );
  }

  /** Moves a schedule's entry (null removes it). Also returns whether the shard's earliest entry changed. */
  async reschedule(
    shard: number,
    entry: string,
    dueAtMs: number | null,
    generation: number,
  ): Promise<{ result: RescheduleResult; earliestChanged: boolean }> {
    const { due, inflight, task, state } = this.#of(shard);
    const keys = [due, inflight, task, state];
    const [code = 0, moved = 0] = numbers(
      await scripts.reschedule.run(this.#redis, keys, [entry, dueAtMs ?? '', generation]),
    );
    const results = ['out', 'queued', 'in-flight', 'outdated'] as const;
    return { result: results[code] ?? 'out', earliestChanged: moved === 1 };
  }

  async cancel(shard: number, ids: readonly MessageId[]): Promise<CancelResult[]> {
    const { due, inflight, task, tomb } = this.#of(shard);
    const reply = numbers(
      await scripts.cancel.run(this.#redis, [due, inflight, task, tomb], [this.#times.tombstoneMs, ...ids]),
    );
    const results = ['absent', 'taken-out', 'in-flight'] as const;
    return reply.map((code) => results[code] ?? 'absent');
  }

  /** Fences that start together read the runs once. */
  #askRuns(): Promise<RunOfKey> {
    this.#askingRuns ??= askRuns(this.#redis).finally(() => (this.#askingRuns = null));
    return this.#askingRuns;
  }

  async #promote(
    shard: number,
    epoch: number,
    horizons: { announce: number | ''; completed: number | '' },
    entries: readonly QueueEntry[],
  ): Promise<(string | number)[]> {
    const args = [epoch, horizons.announce, horizons.completed, ...entries.flatMap(entryArguments)];
    return (await scripts.promote.run(this.#redis, this.#allKeys(shard), args)) as (string | number)[];
  }

  #learnClock(shard: number, serverMs: number): void {
    const aheadMs = serverMs - this.#clock.nowMs();
    if (aheadMs > 0) this.#aheadMs.set(shard, aheadMs);
    else this.#aheadMs.delete(shard);
  }

  #of(shard: number): ShardKeys {
    return (this.#keys[shard] ??= shardKeys(this.#prefix, shard));
  }

  #allKeys(shard: number): string[] {
    const { due, inflight, task, state, tomb } = this.#of(shard);
    return [due, inflight, task, state, tomb];
  }
}

/**
 * Returns the creation time of the oldest payload, by which Redis decides about all payloads of one script: they were
 * created within moments of each other.
 */
function oldestPayloadMs(entries: readonly QueueEntry[]): number {
  return entries.reduce((oldestMs, entry) => {
    return entry.payload === '' ? oldestMs : Math.min(oldestMs, Math.floor(entry.createdAtMs ?? 0));
  }, Number.MAX_SAFE_INTEGER);
}

function entryArguments(entry: QueueEntry): [string, number, string] {
  return [entry.id, Math.ceil(entry.dueAtMs), entry.payload];
}

function refusalOf(status: string | number | undefined): Refusal | null {
  if (status === 'NOFENCE') return { kind: 'lost' };
  if (status === 'STALE') return { kind: 'stale' };
  return null;
}

function numbers(reply: unknown): number[] {
  return (reply as unknown[]).map(Number);
}

function orNull(timeMs: number): number | null {
  return timeMs < 0 ? null : timeMs;
}
