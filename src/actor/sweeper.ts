// Runs the sweeps of the owned shards: each shard at its own place within the period, few at a time, so that a node that owns all
// shards never sweeps them all in the same second.

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

/** Sweeps at once: they share PostgreSQL with deliveries, which come first. */
const MAX_SWEEPS = 4;
/** Work less late than this is on its way. */
const OVERDUE_MS = 5_000;

/** By so much after clients' rows are old enough to be rescued. */
const SOON_MARGIN_MS = 1_000;

/** A sweep that waits for its turn or is under way: of each shard and kind there is one at most. */
interface Run {
  overdueMs: number;
  started: boolean;
  /** Asked for while it was under way: it runs once more, with so much overdue. */
  retry: number | null;
}

interface Timers {
  readonly actor: ShardActor;
  readonly handles: Map<SweepName | 'rescue soon', Cancel>;
  readonly runs: Map<SweepName, Run>;
  /** Sweeps that ended because Redis had a newer epoch than the actor yet. */
  readonly cutOff: Set<SweepName>;
  rescued: MessageId;
  /** How far behind the last sweep of each kind found Redis, in milliseconds. */
  readonly behindMs: Map<SweepName, number>;
  /** When the shard was taken or its epoch renewed last, by Redis's clock. */
  takenAtMs: number;
}

export class Sweeper {
  readonly #parts: SweepParts;
  readonly #settings: SweeperSettings;
  readonly #log: Logger;
  readonly #time: ProcessTime;
  readonly #turns = new SweepTurns(MAX_SWEEPS);
  readonly #shards = new Map<number, Timers>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #summary: SweepSummary;

  constructor(parts: SweepParts, settings: SweeperSettings, log: Logger) {
    this.#parts = parts;
    this.#settings = settings;
    this.#time = settings.time;
    this.#log = log;
    this.#summary = new SweepSummary(log, settings.time);
  }

  /** Sweeps that wait for their turn or are under way. */
  get backlog(): number {
    return this.#underWay.size;
  }

  /** How far behind the last sweep of this kind found the queue of some shard that is owned, in milliseconds. */
  behindMs(sweep: SweepName): number {
    let mostMs = 0;
    for (const { behindMs } of this.#shards.values()) mostMs = Math.max(mostMs, behindMs.get(sweep) ?? 0);
    return mostMs;
  }

  /**
   * Begins to sweep a shard: at once what a takeover (or an emptied queue, `lost`) calls for, then period by period. Called again when
   * the shard's epoch was renewed: what that cut off is made up for, and the periods go on, so that many renewals put off no sweep. To be
   * called in the same turn as the actor's start or renewal: an occurrence that was recorded before is taken for a former epoch's.
   */
  add(actor: ShardActor, lost: boolean): void {
    const known = this.#shards.get(actor.shard);
    const timers = known?.actor === actor ? known : this.#begin(actor);
    timers.takenAtMs = Math.floor(this.#parts.clock.nowMs());
    if (lost || timers.cutOff.has('promote')) this.#run('promote', timers, 0);
    timers.cutOff.clear();
    this.#run('rescue', timers, 0);
    this.#rescueSoon(timers);
  }

  /**
   * PostgreSQL was unavailable and is back: what it committed in the last moment without the answer being heard is in no queue. It is looked for
   * as soon as it can be told from what is on its way, instead of when the period comes round.
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

  /** Ends the timers and waits for the sweeps under way. */
  async stop(): Promise<void> {
    for (const shard of [...this.#shards.keys()]) this.remove(shard);
    await Promise.all(this.#underWay);
    this.#summary.log();
  }

  #begin(actor: ShardActor): Timers {
    this.remove(actor.shard);
    const timers: Timers = {
      actor,
      handles: new Map(),
      runs: new Map(),
      cutOff: new Set(),
      rescued: RESCUE_START,
      behindMs: new Map(),
      takenAtMs: 0,
    };
    this.#shards.set(actor.shard, timers);
    const { promoteEveryMs, rescueEveryMs, shards } = this.#settings;
    const place = (actor.shard + 1) / shards;
    this.#in(timers, 'promote', this.#untilPlace(place, promoteEveryMs), promoteEveryMs);
    this.#in(timers, 'rescue', this.#untilPlace(place, rescueEveryMs), rescueEveryMs);
    return timers;
  }

  /** How long until a shard's place in the period. Periods are those of Redis's clock, so that a shard that often moves is swept as often. */
  #untilPlace(place: number, periodMs: number): number {
    const inPeriodMs = this.#parts.clock.nowMs() % periodMs;
    return (place * periodMs - inPeriodMs + periodMs) % periodMs;
  }

  #in(timers: Timers, name: SweepName, delayMs: number, everyMs: number): void {
    const cancel = this.#time.after(delayMs, () => {
      // One that still waits or is under way serves this period too.
      if (!timers.runs.has(name)) this.#run(name, timers, OVERDUE_MS);
      if (this.#isCurrent(timers)) this.#in(timers, name, everyMs, everyMs);
    });
    timers.handles.set(name, cancel);
  }

  /** Once, out of turn. */
  #rescueSoon(timers: Timers): void {
    timers.handles.get('rescue soon')?.();
    const delayMs = this.#parts.settings.createdBeforeMs + SOON_MARGIN_MS;
    timers.handles.set(
      'rescue soon',
      this.#time.after(delayMs, () => this.#run('rescue', timers, OVERDUE_MS)),
    );
  }

  /** Sweeps as soon as a slot is free. What is asked for while the same sweep waits is one with it, while it is under way the next. */
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
      this.#underWay.delete(work);
      timers.runs.delete(name);
      if (run.retry !== null && this.#isCurrent(timers)) this.#run(name, timers, run.retry);
    });
    this.#underWay.add(work);
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
      // Fenced by the next epoch of this very actor: either it has it by now, or it is about to be added again with it.
      if (actor.epoch === swept.epoch) timers.cutOff.add(name);
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
   * Announces a shard's new horizon before its turn comes: what is accepted for it meanwhile need not wait for the sweep. Does not reject: the sweep
   * itself announces again, and fails.
   */
  async #announceEarly(timers: Timers): Promise<Announced | null> {
    try {
      return this.#isCurrent(timers) ? await announce(this.#parts, this.#sweptShard(timers.actor)) : null;
    } catch {
      return null;
    }
  }

  async #rescue(timers: Timers, swept: SweptShard, overdueMs: number): Promise<Swept> {
    const result = await rescue(this.#parts, swept, overdueMs, timers.rescued, timers.takenAtMs);
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

  /** A sweep that failed is repeated soon; it goes on from the last completed horizon. */
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
