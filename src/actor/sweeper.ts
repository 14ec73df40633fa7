// Runs the sweeps of the owned shards: each shard at its own offset within the period, few at a time, so that a node
// that owns all shards never sweeps all of them in the same second.

import type { Logger } from 'pino';
import { CarillonError } from '../domain/errors.js';
import type { MessageId } from '../domain/ids.js';
import { SweepSummary, type SweepEnd, type SweepName } from './sweep-summary.js';
import { announce, promote, type Announced } from './sweeps/promote.js';
import { rescue, RESCUE_START } from './sweeps/rescue.js';
import type { SweepParts, Swept, SweptShard } from './sweeps/sweep.js';
import { SweepTurns } from './sweep-turns.js';
import type { ShardActor } from './shard-actor.js';
import type { Cancel, ProcessTime } from '../domain/clock.js';

export interface SweeperSettings {
  readonly shards: number;
  readonly time: ProcessTime;
  readonly promoteEveryMs: number;
  readonly rescueEveryMs: number;
  /** Counts a sweep of a shard that ended. */
  readonly onSwept?: (end: SweepEnd) => void;
}

/** Sweeps at a time: they share PostgreSQL with deliveries, which come first. */
const MAX_SWEEPS = 4;
/** Work that is less late than this may still be on its way to Redis. */
const OVERDUE_MS = 5_000;

/** Margin after which clients' rows are old enough to be rescued. */
const SOON_MARGIN_MS = 1_000;

/** A sweep that waits for its turn or is in progress: there is at most one of each shard and kind. */
interface Run {
  overdueMs: number;
  started: boolean;
  /** Requested while it was in progress: it runs once more, for work that is this late. */
  retry: number | null;
}

interface Timers {
  readonly actor: ShardActor;
  readonly handles: Map<SweepName | 'rescue soon', Cancel>;
  readonly runs: Map<SweepName, Run>;
  /** Sweeps that ended early because Redis already had a newer epoch than the actor. */
  readonly interrupted: Set<SweepName>;
  rescued: MessageId;
  /** How far behind the last sweep of each kind found Redis, in milliseconds. */
  readonly behindMs: Map<SweepName, number>;
  /** When the shard was acquired or its epoch renewed last, by Redis's clock. */
  acquiredAtMs: number;
}

export class Sweeper {
  readonly #parts: SweepParts;
  readonly #settings: SweeperSettings;
  readonly #log: Logger;
  readonly #time: ProcessTime;
  readonly #turns = new SweepTurns(MAX_SWEEPS);
  readonly #shards = new Map<number, Timers>();
  readonly #inProgress = new Set<Promise<void>>();
  readonly #summary: SweepSummary;

  constructor(parts: SweepParts, settings: SweeperSettings, log: Logger) {
    this.#parts = parts;
    this.#settings = settings;
    this.#time = settings.time;
    this.#log = log;
    this.#summary = new SweepSummary(log, settings.time);
  }

  /** Sweeps that wait for their turn or are in progress. */
  get backlog(): number {
    return this.#inProgress.size;
  }

  /** Returns how far behind the last sweep of this kind found the queue of any owned shard, in milliseconds. */
  behindMs(sweep: SweepName): number {
    let mostMs = 0;
    for (const { behindMs } of this.#shards.values()) mostMs = Math.max(mostMs, behindMs.get(sweep) ?? 0);
    return mostMs;
  }

  /**
   * Starts to sweep a shard: at once what an acquisition (or an emptied queue, `lost`) requires, then once in each
   * period. Called again when the shard's epoch was renewed: it then repeats the sweeps that the renewal interrupted
   * and keeps the periods, so that many renewals delay no sweep. Must be called in the same turn of the event loop as
   * the actor's start or renewal, because an occurrence that was recorded before this call counts as one of an earlier
   * epoch.
   */
  add(actor: ShardActor, lost: boolean): void {
    const known = this.#shards.get(actor.shard);
    const timers = known?.actor === actor ? known : this.#start(actor);
    timers.acquiredAtMs = Math.floor(this.#parts.clock.nowMs());
    if (lost || timers.interrupted.has('promote')) this.#run('promote', timers, 0);
    timers.interrupted.clear();
    this.#run('rescue', timers, 0);
    this.#rescueSoon(timers);
  }

  /**
   * Called when PostgreSQL became available again. Rows that it committed in its last moment, before their clients saw
   * the answer, may not be in Redis. They are looked for as soon as they can be distinguished from rows on their way,
   * instead of at the next period.
   */
  sweepSoon(): void {
    for (const timers of this.#shards.values()) this.#rescueSoon(timers);
  }

  remove(shard: number): void {
    const timers = this.#shards.get(shard);
    if (timers === undefined) return;
    this.#shards.delete(shard);
    for (const cancel of timers.handles.values()) cancel();
  }

  /** Stops the timers and waits for the sweeps in progress. */
  async stop(): Promise<void> {
    for (const shard of [...this.#shards.keys()]) this.remove(shard);
    await Promise.all(this.#inProgress);
    this.#summary.log();
  }

  #start(actor: ShardActor): Timers {
    this.remove(actor.shard);
    const timers: Timers = {
      actor,
      handles: new Map(),
      runs: new Map(),
      interrupted: new Set(),
      rescued: RESCUE_START,
      behindMs: new Map(),
      acquiredAtMs: 0,
    };
    this.#shards.set(actor.shard, timers);
    const { promoteEveryMs, rescueEveryMs, shards } = this.#settings;
    const offset = (actor.shard + 1) / shards;
    this.#in(timers, 'promote', this.#untilOffset(offset, promoteEveryMs), promoteEveryMs);
    this.#in(timers, 'rescue', this.#untilOffset(offset, rescueEveryMs), rescueEveryMs);
    return timers;
  }

  /**
   * Returns how long until a shard's offset in the period. Periods follow Redis's clock, so that a shard that moves
   * often is swept as often as others.
   */
  #untilOffset(offset: number, periodMs: number): number {
    const inPeriodMs = this.#parts.clock.nowMs() % periodMs;
    return (offset * periodMs - inPeriodMs + periodMs) % periodMs;
  }

  #in(timers: Timers, name: SweepName, delayMs: number, everyMs: number): void {
    const cancel = this.#time.after(delayMs, () => {
      // A sweep that still waits or is in progress serves this period too.
      if (!timers.runs.has(name)) this.#run(name, timers, OVERDUE_MS);
      if (this.#isCurrent(timers)) this.#in(timers, name, everyMs, everyMs);
    });
    timers.handles.set(name, cancel);
  }

  /** Rescues once, in addition to the periods. */
  #rescueSoon(timers: Timers): void {
    timers.handles.get('rescue soon')?.();
    const delayMs = this.#parts.settings.createdBeforeMs + SOON_MARGIN_MS;
    timers.handles.set(
      'rescue soon',
      this.#time.after(delayMs, () => this.#run('rescue', timers, OVERDUE_MS)),
    );
  }

  /**
   * Sweeps as soon as a turn is free. A request merges with a waiting sweep of the same kind; during a sweep in
   * progress it requests the next one.
   */
  #run(name: SweepName, timers: Timers, overdueMs: number): void {
    const known = timers.runs.get(name);
    if (known?.started === true) {
      known.retry = Math.min(known.retry ?? overdueMs, overdueMs);
      return;
    }
    if (known !== undefined) {
      known.overdueMs = Math.min(known.overdueMs, overdueMs);
      return;
    }
    const run: Run = { overdueMs, started: false, retry: null };
    timers.runs.set(name, run);
    const work = this.#sweep(name, timers, run).finally(() => {
      this.#inProgress.delete(work);
      timers.runs.delete(name);
      if (run.retry !== null && this.#isCurrent(timers)) this.#run(name, timers, run.retry);
    });
    this.#inProgress.add(work);
  }

  async #sweep(name: SweepName, timers: Timers, run: Run): Promise<void> {
    const announced = name === 'promote' ? await this.#announceEarly(timers) : null;
    await this.#turns.acquire(announced?.completedAtMs ?? this.#parts.clock.nowMs() - run.overdueMs);
    run.started = true;
    const { actor } = timers;
    const startedAtMs = this.#time.monotonicMs();
    try {
      if (!this.#isCurrent(timers)) return;
      const swept = this.#sweptShard(actor);
      const result =
        name === 'promote'
          ? await promote(this.#parts, swept, announced)
          : await this.#rescue(timers, swept, run.overdueMs);
      this.#report(name, timers, result, this.#time.monotonicMs() - startedAtMs);
      if (!result.fenced) return;
      // Fenced by the next epoch of this same actor, which either has it already or is about to be added again with it.
      if (actor.epoch === swept.epoch) timers.interrupted.add(name);
      else run.retry = run.overdueMs;
    } catch (error) {
      const durationMs = this.#time.monotonicMs() - startedAtMs;
      this.#ended({ sweep: name, result: 'failed', queued: 0, read: 0, durationMs, behindMs: 0 });
      this.#failed(name, timers, error);
    } finally {
      this.#turns.release();
    }
  }

  #sweptShard(actor: ShardActor): SweptShard {
    return {
      shard: actor.shard,
      epoch: actor.epoch,
      wake: (dueAtMs) => actor.wake(dueAtMs),
      pass: (dueAtMs) => this.#turns.pass(dueAtMs),
    };
  }

  /**
   * Announces a shard's new horizon before its turn comes, so that messages accepted meanwhile need not wait for the
   * sweep. Does not reject: the sweep announces again, and reports the error.
   */
  async #announceEarly(timers: Timers): Promise<Announced | null> {
    try {
      return this.#isCurrent(timers) ? await announce(this.#parts, this.#sweptShard(timers.actor)) : null;
    } catch {
      return null;
    }
  }

  async #rescue(timers: Timers, swept: SweptShard, overdueMs: number): Promise<Swept> {
    const result = await rescue(this.#parts, swept, overdueMs, timers.rescued, timers.acquiredAtMs);
    timers.rescued = result.position;
    return result;
  }

  #report(sweep: SweepName, timers: Timers, { queued, read, fenced, behindMs }: Swept, durationMs: number): void {
    if (!fenced) timers.behindMs.set(sweep, behindMs);
    this.#ended({ sweep, result: fenced ? 'fenced' : 'done', queued, read, durationMs, behindMs });
    const { shard } = timers.actor;
    this.#log.debug({ sweep, shard, queued, read, fenced, durationMs: Math.round(durationMs) }, 'shard swept');
  }

  #ended(end: SweepEnd): void {
    this.#settings.onSwept?.(end);
    this.#summary.add(end);
  }

  /** Repeats a failed sweep soon, from the last completed horizon. */
  #failed(name: SweepName, timers: Timers, error: unknown): void {
    if (!(error instanceof CarillonError)) {
      this.#log.error({ err: error, sweep: name, shard: timers.actor.shard }, 'sweep failed');
    }
    if (!this.#isCurrent(timers)) return;
    const everyMs = name === 'promote' ? this.#settings.promoteEveryMs : this.#settings.rescueEveryMs;
    timers.handles.get(name)?.();
    this.#in(timers, name, Math.min(everyMs, RETRY_MS), everyMs);
  }

  #isCurrent(timers: Timers): boolean {
    return this.#shards.get(timers.actor.shard) === timers && !timers.actor.isHalted;
  }
}

const RETRY_MS = 1_000;
