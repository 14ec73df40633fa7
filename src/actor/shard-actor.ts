// The single worker of an owned shard: it sleeps until the next due time, claims, and processes what it claimed.
//
// It claims only while the node trusts its lease of the shard, by the node's own clock. When the shard moves to another
// node it halts and finishes its deliveries in flight under their tokens; the new owner leaves them alone until the
// claims expire.
//
// Life of a claim. A schedule is fired (firing.ts). A message whose entry carries a payload is on its first attempt and
// is sent at once; any other is read from PostgreSQL first. A new claim of a message that is still in flight here
// (Redis was emptied, or the claim expired) only replaces the token. Once the outcome is committed, the entry is
// settled.

import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { Cancel } from '../domain/clock.js';
import type { Message } from '../domain/message.js';
import { parseScheduleEntry, type ScheduleKeyOfEntry } from '../redis/keys.js';
import type { Claim, Claimed } from '../redis/shard-queue.js';
import type { Outcome, Released } from '../postgres/messages/outcomes.js';
import { WakeTimer } from './wake-timer.js';
import type { ActorParts } from './actor-parts.js';
import { isUnavailable } from './failing-entries.js';
import { PayloadFreshness } from './payload-freshness.js';
import { isStillToBeSent, isToBeSent, type Known } from './recheck.js';
import { Settlements } from './settlements.js';
import { Deferred } from './deferred.js';
import type { Acquisition } from './semaphore.js';

interface InFlight {
  token: string;
  /** Whether its permit was released before it completed. */
  isReleased: boolean;
  /** Whether its end was sent to Redis: any later claim of the entry is a new one. */
  isEnding: boolean;
}

/** Pause before the next try when Redis or PostgreSQL is unavailable. */
const UNAVAILABLE_PAUSE_MS = 200;
/** Delay of a claimed entry that was refused because the shard has another epoch. */
const REFUSED_PAUSE_MS = 500;
/** How soon an actor checks again whether its lease is trusted. */
const UNTRUSTED_PAUSE_MS = 50;
/** How soon an actor claims again after a claim that came too late. */
const LATE_PAUSE_MS = 1;
/** Permits that an actor acquires for a claim before it knows how much is due. */
const FIRST_CLAIM = 4;
/** A row that is not due yet goes back for its own time; clocks may round by this much. */
const ROUNDING_MS = 2;

export class ShardActor {
  readonly shard: number;
  readonly #parts: ActorParts;
  readonly #log: Logger;
  readonly #inFlightById = new Map<string, InFlight>();
  readonly #abort = new AbortController();
  readonly #wakeTimer: WakeTimer;
  readonly #settlements: Settlements;
  readonly #freshness: PayloadFreshness;
  #epoch: number;
  /** Small at first, so that actors of many shards can claim at once; grows while there is more. */
  #claimSize = FIRST_CLAIM;
  #halted = false;
  /** Since when (by the process's clock) claims have failed because a store does not answer. */
  #tryingSinceMs: number | null = null;
  /** The soonest due time in the mailbox since the last claim was sent, whose answer may not include that work. */
  #notifiedDueAtMs = Infinity;
  #idle: Deferred | null = null;
  #haltRequested = new Deferred();
  #acquisition: Acquisition | null = null;
  #running: Promise<void> | null = null;

  constructor(shard: number, epoch: number, parts: ActorParts) {
    this.shard = shard;
    this.#epoch = epoch;
    this.#parts = parts;
    this.#log = parts.log.child({ shard });
    // There is one listener for each delivery in flight, and there may be thousands: no leak.
    setMaxListeners(0, this.#abort.signal);
    this.#freshness = new PayloadFreshness(shard, parts.clock);
    this.#wakeTimer = new WakeTimer(parts.clock, parts.time);
    this.#settlements = new Settlements(shard, parts.queue, (backAtMs) => {
      if (this.#halted) parts.wake(shard, backAtMs);
      else this.wake(backAtMs);
    });
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Deliveries and firings in flight. */
  get inFlight(): number {
    return this.#inFlightById.size;
  }

  /** True when it was halted, or halted itself. */
  get isHalted(): boolean {
    return this.#halted;
  }

  /**
   * For how long claims have failed; 0 when they succeed, it sleeps, or waits for PostgreSQL or the node's capacity.
   */
  get stuckMs(): number {
    return this.#tryingSinceMs === null || !this.#parts.recorder.isAvailable
      ? 0
      : this.#parts.time.monotonicMs() - this.#tryingSinceMs;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Mailbox: work due at this time was queued. Shortens the sleep to end by then. */
  wake(dueAtMs: number): void {
    this.#notifiedDueAtMs = Math.min(this.#notifiedDueAtMs, dueAtMs);
    this.#wakeTimer.wakeBy(dueAtMs);
  }

  /** Mailbox: a new epoch was installed, after Redis lost data or became available again. */
  renew(epoch: number): void {
    this.#epoch = epoch;
    this.#freshness.renew();
    this.#wakeTimer.wake();
  }

  /** Mailbox: PostgreSQL has a later epoch than this one. */
  superseded(epoch: number): void {
    if (this.#halted || this.#epoch !== epoch) return;
    this.#refused(epoch).catch((error: unknown) => {
      if (!isUnavailable(error)) this.#log.error({ err: error }, 'an epoch could not be renewed');
    });
  }

  /**
   * Mailbox: Redis became unavailable. Until a renewal its data may be older than this epoch, so nothing is claimed.
   */
  suspend(): void {
    this.#freshness.suspend();
  }

  /** Extends the visibility of what is in flight. */
  async extendVisibility(): Promise<void> {
    if (this.#inFlightById.size === 0) return;
    const claims = [...this.#inFlightById].map(([id, { token }]) => ({ id, token }));
    await this.#parts.queue.extendVisibility(this.shard, claims);
  }

  /** Stops claiming; resolves when no claim is in progress. Deliveries in flight are finished. May be called again. */
  async halt(): Promise<void> {
    this.#stopClaiming();
    await this.#running;
  }

  /** Claims again under a new epoch, after `halt`. */
  resume(epoch: number): void {
    if (!this.#halted) {
      this.renew(epoch);
      return;
    }
    const halting = this.#running;
    this.#halted = false;
    this.#haltRequested = new Deferred();
    this.#tryingSinceMs = null;
    this.renew(epoch);
    this.#running = (async () => {
      await halting;
      await this.#run();
    })();
  }

  /** Resolves when nothing is in flight, at the latest after this time. Returns whether nothing is in flight. */
  async idleWithin(withinMs: number): Promise<boolean> {
    if (this.#inFlightById.size === 0) return true;
    this.#idle ??= new Deferred();
    let cancel: Cancel = () => undefined;
    const late = new Promise((resolve) => (cancel = this.#parts.time.after(withinMs, () => resolve(null))));
    await Promise.race([this.#idle.promise, late]);
    cancel();
    return this.#inFlightById.size === 0;
  }

  /**
   * Halts and waits until everything in flight has completed. What has not completed after `drainMs` is aborted and
   * returned to the queue at once. May be called again; then it waits for the same end.
   */
  async stop(drainMs: number): Promise<void> {
    this.#stopClaiming();
    const cancel = this.#parts.time.after(drainMs, () => this.#abort.abort());
    await this.#running;
    if (this.#inFlightById.size > 0) await (this.#idle ??= new Deferred()).promise;
    cancel();
    await this.#settlements.flush();
  }

  #stopClaiming(): void {
    this.#halted = true;
    this.#haltRequested.resolve();
    this.#acquisition?.cancel();
    this.#wakeTimer.wake();
  }

  async #run(): Promise<void> {
    while (!this.#halted) {
      try {
        const { recorder, time } = this.#parts;
        if (!recorder.isAvailable) {
          // An unavailable PostgreSQL concerns the node, not this shard.
          this.#tryingSinceMs = null;
          await Promise.race([recorder.available(), this.#haltRequested.promise]);
        }
        this.#tryingSinceMs ??= time.monotonicMs();
        const pauseMs = await this.#claimOnce();
        this.#tryingSinceMs = null;
        if (pauseMs > 0) await this.#sleep(Math.min(pauseMs, this.#untilNotifiedMs()));
      } catch (error) {
        if (!isUnavailable(error)) this.#log.error({ err: error }, 'claim failed');
        await this.#sleep(UNAVAILABLE_PAUSE_MS);
      }
    }
  }

  /** Claims and starts the work. Returns how long to sleep, in milliseconds. */
  async #claimOnce(): Promise<number> {
    const { semaphore, queue, settings } = this.#parts;
    const granted = await this.#acquirePermits(Math.min(this.#claimSize, settings.claimBatch));
    let used = 0;
    try {
      if (this.#halted) return 0;
      if (this.#freshness.isSuspended || !this.#parts.isTrusted(this.shard)) return UNTRUSTED_PAUSE_MS;
      this.#notifiedDueAtMs = Infinity;
      const epoch = this.#epoch;
      const requestedAtMs = this.#parts.time.monotonicMs();
      const reply = await queue.claim(this.shard, epoch, granted);
      this.#parts.onClaim?.(reply.kind === 'claimed' ? reply.claims.length : reply.kind === 'late' ? 0 : null);
      if (reply.kind === 'late') return LATE_PAUSE_MS;
      if (reply.kind !== 'claimed') {
        await this.#refused(epoch);
        return 0;
      }
      used = reply.claims.length;
      for (const claim of reply.claims) this.#startWork(claim, requestedAtMs);
      if (used === granted) {
        this.#claimSize = Math.min(this.#claimSize * 2, settings.claimBatch);
        return 0;
      }
      this.#claimSize = FIRST_CLAIM;
      return this.#pauseMs(reply);
    } finally {
      semaphore.release(granted - used);
    }
  }

  /** Acquires permits. The wait does not count as being stuck. It ends when the actor halts, with no permits. */
  async #acquirePermits(most: number): Promise<number> {
    const { semaphore, time } = this.#parts;
    const sinceMs = time.monotonicMs();
    const acquisition = semaphore.acquire(most);
    this.#acquisition = acquisition;
    const granted = await acquisition.granted;
    this.#acquisition = null;
    if (this.#tryingSinceMs !== null) this.#tryingSinceMs += time.monotonicMs() - sinceMs;
    return granted;
  }

  #pauseMs(reply: Claimed): number {
    const idleUntilMs = reply.nowMs + this.#parts.settings.idleClaimMs;
    const nextMs = Math.min(reply.nextDueAtMs ?? idleUntilMs, reply.nextExpiryAtMs ?? idleUntilMs, idleUntilMs);
    return Math.max(nextMs - this.#parts.clock.nowMs(), 1);
  }

  /** Returns how long until the work that arrived after the claim was sent; at least 1, in milliseconds. */
  #untilNotifiedMs(): number {
    return Math.max(this.#notifiedDueAtMs - this.#parts.clock.nowMs(), 1);
  }

  async #refused(refusedEpoch: number): Promise<void> {
    const epoch = await this.#parts.renewEpoch(this.shard, refusedEpoch);
    if (epoch !== null) return;
    if (this.#halted) return;
    this.#log.debug({ epoch: refusedEpoch }, 'shard is fenced: it has another owner');
    this.#stopClaiming();
    this.#parts.onFenced(this.shard);
  }

  async #sleep(durationMs: number): Promise<void> {
    if (!this.#halted) await this.#wakeTimer.sleep(durationMs);
  }

  /** Starts the work on a claim that was requested at a time. It occupies one permit until it has completed. */
  #startWork(claim: Claim, requestedAtMs: number): void {
    const existing = this.#inFlightById.get(claim.id);
    if (existing?.isEnding === false) {
      // Still in flight on this node: the delivery in progress settles with the new token.
      existing.token = claim.token;
      this.#parts.semaphore.release(1);
      return;
    }
    const inFlight: InFlight = { token: claim.token, isReleased: false, isEnding: false };
    this.#inFlightById.set(claim.id, inFlight);
    const schedule = parseScheduleEntry(claim.id);
    const work =
      schedule === null ? this.#deliver(claim, inFlight, requestedAtMs) : this.#fire(claim, inFlight, schedule);
    work
      .then(
        () => this.#parts.faulty.forget(claim.id),
        async (error: unknown) =>
          this.#returnClaim(claim.id, inFlight, await this.#parts.faulty.judge(claim.id, error)),
      )
      .finally(() => this.#complete(claim.id, inFlight));
  }

  /**
   * Returns an entry that could not be processed to the queue, or ends it (null). When Redis is unavailable, the claim
   * expires. In both cases its next claim reads PostgreSQL.
   */
  async #returnClaim(id: string, inFlight: InFlight, backAtMs: number | null): Promise<void> {
    try {
      await this.#settle(id, inFlight, backAtMs);
    } catch (error) {
      if (!isUnavailable(error))
        this.#log.error({ err: error, entry: id }, 'an entry could not be returned to the queue in Redis');
    }
  }

  /** Releases the permit of an answered delivery, which needs none while it waits to be recorded. */
  #releaseBeforeCommit(inFlight: InFlight): void {
    inFlight.isReleased = this.#parts.semaphore.releaseBeforeCommit();
  }

  #complete(id: string, inFlight: InFlight): void {
    // It may have been claimed again while its end was on the way to Redis.
    if (this.#inFlightById.get(id) === inFlight) this.#inFlightById.delete(id);
    if (inFlight.isReleased) this.#parts.semaphore.recorded();
    else this.#parts.semaphore.release(1);
    if (this.#inFlightById.size > 0) return;
    this.#idle?.resolve();
    this.#idle = null;
  }

  async #fire(claim: Claim, inFlight: InFlight, key: ScheduleKeyOfEntry): Promise<void> {
    const tokenAtEnd = (): string => {
      inFlight.isEnding = true;
      return inFlight.token;
    };
    const epoch = this.#epoch;
    const fired = await this.#parts.firing.fire({ shard: this.shard, epoch, entry: claim.id, key, tokenAtEnd });
    if (fired === 'done') return;
    await this.#refused(epoch);
    await this.#returnClaim(claim.id, inFlight, this.#parts.clock.nowMs() + REFUSED_PAUSE_MS);
  }

  async #deliver(claim: Claim, inFlight: InFlight, requestedAtMs: number): Promise<void> {
    const fresh = this.#freshness.messageOf(claim);
    if (fresh !== null) return this.#attempt(fresh, inFlight, 1, { knownAtMs: requestedAtMs, payload: claim.payload });
    const knownAtMs = this.#parts.time.monotonicMs();
    const stored = await this.#parts.recorder.readMessage(claim.id);
    if (stored === null || !isToBeSent(stored)) return this.#settle(claim.id, inFlight, null);
    if (stored.nextAttemptAtMs > this.#parts.clock.nowMs() + ROUNDING_MS) {
      return this.#settle(claim.id, inFlight, stored.nextAttemptAtMs);
    }
    return this.#attempt(stored, inFlight, stored.attempts + 1, { knownAtMs, payload: '' });
  }

  async #attempt(message: Message, inFlight: InFlight, attempt: number, known: Known): Promise<void> {
    const entering = this.#parts.admission.enter(message, this.#parts.clock.nowMs());
    const admittance = entering instanceof Promise ? await entering : entering;
    if (admittance.kind === 'deferred') return this.#settle(message.id, inFlight, admittance.backAtMs, known.payload);
    let outcome: Outcome | null;
    try {
      outcome = await this.#parts.attempts.make(message, attempt, this.#abort.signal, () =>
        isStillToBeSent(this.#parts, message, attempt, known.knownAtMs),
      );
    } finally {
      admittance.leave();
    }
    if (outcome === null) return this.#settle(message.id, inFlight, this.#parts.clock.nowMs());
    this.#releaseBeforeCommit(inFlight);
    const nextStep = await this.#parts.attempts.record(outcome);
    this.#parts.onAttempt(nextStep);
    this.#enqueueReleased(nextStep.recorded.released);
    for (const callback of nextStep.outcome.callbacks) {
      this.#parts.enqueuer.enqueue(callback.shard, { id: callback.id, dueAtMs: callback.dueAtMs, payload: '' });
    }
    await this.#settle(message.id, inFlight, nextStep.kind === 'retry' ? nextStep.atMs : null);
  }

  #enqueueReleased(released: readonly Released[]): void {
    for (const { id, shard, dueAtMs } of released) this.#parts.enqueuer.enqueue(shard, { id, dueAtMs, payload: '' });
  }

  /** Ends a claim; those of one tick go to Redis together. When Redis is unavailable, the claim expires. */
  async #settle(id: string, inFlight: InFlight, backAtMs: number | null, payload = ''): Promise<void> {
    inFlight.isEnding = true;
    const at = backAtMs === null ? null : Math.ceil(backAtMs);
    await this.#settlements.add({ id, token: inFlight.token, backAtMs: at, payload });
  }
}
