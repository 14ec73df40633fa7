// The one worker of an owned shard: it sleeps until the next due time, claims, and works on what it claimed.
//
// It claims only while the node's lease of the shard is trusted, by the node's own time. When the shard goes to another node it halts: what it
// has in its hands it finishes, by the claims' tokens, and the new owner leaves that alone until it lapses.
//
// Life of a claim. A schedule is fired (firing.ts). A message whose entry carries a payload is on its first attempt and is sent at
// once; any other is read from PostgreSQL first, and the row says what to do. One that this node still has in its hands (Redis
// was emptied, or lapsed behind our back) only changes its token. When the outcome is committed, the entry is settled.

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
  /** Whether its slot was given back before it landed. */
  isReleased: boolean;
  /** Whether its end was sent to Redis: an entry that is claimed from then on is a new one. */
  isEnding: boolean;
}

/** How long to wait before trying again when Redis or PostgreSQL is unavailable. */
const TROUBLE_PAUSE_MS = 200;
/** When a claimed entry comes back that was refused because the shard's epoch is another. */
const REFUSED_PAUSE_MS = 500;
/** How soon an actor looks again whether its lease is trusted. */
const UNTRUSTED_PAUSE_MS = 50;
/** How soon an actor claims again whose claim came too late. */
const LATE_PAUSE_MS = 1;
/** Slots that an actor takes for a claim before it knows how much is due. */
const FIRST_CLAIM = 4;
/** When a row is not to be sent yet, it goes back for its own time; by so much may clocks round. */
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
  /** Small at first, so that many actors can claim at once what is due in many shards; grows while there is more. */
  #claimSize = FIRST_CLAIM;
  #halted = false;
  /** Since when (by the process's time) the actor tries to claim and cannot, because a store does not answer. */
  #tryingSinceMs: number | null = null;
  /** The soonest time that the mailbox told of since the last claim was sent: its answer may not know of it yet. */
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
    // One listener for each delivery under way, and there may be thousands: no leak to be warned of.
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

  /** Deliveries and firings under way. */
  get inFlight(): number {
    return this.#inFlightById.size;
  }

  /** True when it was halted, or halted itself. */
  get isHalted(): boolean {
    return this.#halted;
  }

  /** For how long it has been trying in vain to claim; 0 when all is well, it sleeps, or waits for PostgreSQL or the node's capacity. */
  get stuckMs(): number {
    return this.#tryingSinceMs === null || !this.#parts.recorder.isAvailable
      ? 0
      : this.#parts.time.monotonicMs() - this.#tryingSinceMs;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Mailbox: work due at this time was queued. The sleep lasts no longer than until then. */
  wake(dueAtMs: number): void {
    this.#notifiedDueAtMs = Math.min(this.#notifiedDueAtMs, dueAtMs);
    this.#wakeTimer.wakeBy(dueAtMs);
  }

  /** Mailbox: a new epoch was installed, after Redis was lost or Redis came back. */
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

  /** Mailbox: Redis became unavailable. Until the shard is renewed it claims nothing: what Redis has by then may be older than this node's epoch. */
  suspend(): void {
    this.#freshness.suspend();
  }

  /** Prolongs the visibility of what is under way. */
  async extendVisibility(): Promise<void> {
    if (this.#inFlightById.size === 0) return;
    const claims = [...this.#inFlightById].map(([id, { token }]) => ({ id, token }));
    await this.#parts.queue.extendVisibility(this.shard, claims);
  }

  /** Claims no more; resolves when no claim is under way. What was claimed is finished, and is touched meanwhile. May be called again. */
  async halt(): Promise<void> {
    this.#stopClaiming();
    await this.#running;
  }

  /** After `halt`: claims again, under a new epoch. */
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

  /** Resolves when nothing is under way, at the latest after this time. Tells which. */
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
   * Halts and waits until all that is under way has landed. What has not after `drainMs` is cut off and given back to the
   * queue at once. May be called again; then it waits for the same end.
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
          // That PostgreSQL is unavailable concerns the node, not this shard.
          this.#tryingSinceMs = null;
          await Promise.race([recorder.available(), this.#haltRequested.promise]);
        }
        this.#tryingSinceMs ??= time.monotonicMs();
        const pauseMs = await this.#claimOnce();
        this.#tryingSinceMs = null;
        if (pauseMs > 0) await this.#sleep(Math.min(pauseMs, this.#untilNotifiedMs()));
      } catch (error) {
        if (!isUnavailable(error)) this.#log.error({ err: error }, 'claim failed');
        await this.#sleep(TROUBLE_PAUSE_MS);
      }
    }
  }

  /** Claims and starts the work. Gives how long to sleep, in milliseconds. */
  async #claimOnce(): Promise<number> {
    const { semaphore: slots, queue, settings } = this.#parts;
    const granted = await this.#acquireSlots(Math.min(this.#claimSize, settings.claimBatch));
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
      slots.release(granted - used);
    }
  }

  /** Waiting for the node's capacity is no trouble of the shard's, and ends when the actor is to halt: then there are none. */
  async #acquireSlots(most: number): Promise<number> {
    const { semaphore: slots, time } = this.#parts;
    const sinceMs = time.monotonicMs();
    const acquisition = slots.acquire(most);
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

  /** How long until the work that came in behind the claim's back; at least 1, in milliseconds. */
  #untilNotifiedMs(): number {
    return Math.max(this.#notifiedDueAtMs - this.#parts.clock.nowMs(), 1);
  }

  async #refused(refusedEpoch: number): Promise<void> {
    const epoch = await this.#parts.renewEpoch(this.shard, refusedEpoch);
    if (epoch !== null) return;
    if (this.#halted) return;
    this.#log.debug({ epoch: refusedEpoch }, 'fenced: the shard has another owner');
    this.#stopClaiming();
    this.#parts.onFenced(this.shard);
  }

  async #sleep(durationMs: number): Promise<void> {
    if (!this.#halted) await this.#wakeTimer.sleep(durationMs);
  }

  /** Starts the work on a claim that was asked for at a time. Each claim holds one slot until it has landed. */
  #startWork(claim: Claim, requestedAtMs: number): void {
    const former = this.#inFlightById.get(claim.id);
    if (former?.isEnding === false) {
      // Still in our hands: whoever works on it settles with the new token.
      former.token = claim.token;
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

  /** Puts an entry back that could not be worked on, or ends it (null). If Redis cannot be told, it lapses; either way its next claim asks PostgreSQL. */
  async #returnClaim(id: string, inFlight: InFlight, backAtMs: number | null): Promise<void> {
    try {
      await this.#settle(id, inFlight, backAtMs);
    } catch (error) {
      if (!isUnavailable(error)) this.#log.error({ err: error, entry: id }, 'an entry could not be given back');
    }
  }

  /** What was answered and waits to be recorded needs no slot. */
  #releaseBeforeCommit(inFlight: InFlight): void {
    inFlight.isReleased = this.#parts.semaphore.releaseBeforeCommit();
  }

  #complete(id: string, inFlight: InFlight): void {
    // It may have been claimed anew while its end was on the way.
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

  /** Ends a claim; those of one tick go together. What cannot be told to Redis lapses, and PostgreSQL is asked. */
  async #settle(id: string, inFlight: InFlight, backAtMs: number | null, payload = ''): Promise<void> {
    inFlight.isEnding = true;
    const at = backAtMs === null ? null : Math.ceil(backAtMs);
    await this.#settlements.add({ id, token: inFlight.token, backAtMs: at, payload });
  }
}
