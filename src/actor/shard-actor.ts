// The one worker of an owned shard: it sleeps until the next due time, claims, and works on what it claimed.
//
// Life of a claim. A schedule is fired (firing.ts). A message whose entry carries a payload is on its first attempt and is sent at
// once; any other is read from the table first, and the row says what to do. One that this node still has in its hands (the queue
// was emptied, or lapsed behind our back) only changes its token. When the outcome is committed, the entry is settled.
//
// Trust in payloads. An entry that was queued before this actor took over, or before Redis was last seen to come back, may be
// older than what the queue forgot: a settled entry or a cancel of Redis's last second. So its payload is not used; see `#suspectBeforeMs`.

import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import type { Message } from '../domain/message.js';
import type { HostLimiter } from '../delivery/host-limiter.js';
import { parseTarget } from '../delivery/target.js';
import { parseScheduleEntry, type ScheduleKeyOfEntry } from '../queue/keys.js';
import type { Offers } from '../queue/offers.js';
import { decodePayload } from '../queue/payload.js';
import type { Claim, Claimed, Settlement, ShardQueue } from '../queue/shard-queue.js';
import type { StoredMessage } from '../table/message-columns.js';
import type { Outcome, Released } from '../table/outcomes.js';
import type { Recorder } from '../table/recorder.js';
import type { Attempts, Following } from './attempts.js';
import type { Deferrals } from './deferral.js';
import type { Firing } from './firing.js';
import { Signal } from './signal.js';
import type { Slots } from './slots.js';

export interface ShardActorSettings {
  readonly claimBatch: number;
  /** Longest sleep with nothing due, in milliseconds. */
  readonly idleClaimMs: number;
}

/** What the actors of a node share. */
export interface ActorParts {
  readonly queue: ShardQueue;
  readonly offers: Offers;
  readonly recorder: Recorder;
  readonly attempts: Attempts;
  readonly firing: Firing;
  readonly slots: Slots;
  readonly hosts: HostLimiter;
  readonly deferrals: Deferrals;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: ShardActorSettings;
  /**
   * Called when Redis refused this epoch: the shard's state is gone, or a newer epoch is installed. That may be this node's own, which the
   * actor does not know yet. Gives the epoch to go on with, or null when the shard has another owner by now.
   */
  readonly refence: (shard: number, refusedEpoch: number) => Promise<number | null>;
  /** Counts what became of an attempt. */
  readonly onAttempt: (following: Following) => void;
}

interface Flight {
  token: string;
  /** Whether its slot was given back before it landed. */
  slotIsFree: boolean;
  /** Whether its end was sent to the queue: an entry that is claimed from then on is a new one. */
  isEnding: boolean;
}

/** How long to wait before trying again when Redis or the table is away. */
const TROUBLE_PAUSE_MS = 200;
const GIVE_BACK_MS = 500;
/** Slots that an actor takes for a claim before it knows how much is due. */
const FIRST_CLAIM = 4;
/** When a row is not to be sent yet, it goes back for its own time; by so much may clocks round. */
const ROUNDING_MS = 2;

export class ShardActor {
  readonly shard: number;
  readonly #parts: ActorParts;
  readonly #log: Logger;
  readonly #flights = new Map<string, Flight>();
  readonly #abort = new AbortController();
  #epoch: number;
  #suspectBeforeMs: number;
  /** Small at first, so that many actors can claim at once what is due in many shards; grows while there is more. */
  #claimSize = FIRST_CLAIM;
  #settlements: Settlement[] = [];
  #stopping = false;
  #wake: (() => void) | null = null;
  #sleepUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The soonest time that the mailbox told of since the last claim was sent: its answer may not know of it yet. */
  #toldOfMs = Infinity;
  readonly #landed = new Signal();
  readonly #stopAsked = new Signal();
  #running: Promise<void> | null = null;

  constructor(shard: number, epoch: number, parts: ActorParts) {
    this.shard = shard;
    this.#epoch = epoch;
    this.#parts = parts;
    this.#log = parts.log.child({ shard });
    // One listener for each delivery under way, and there may be thousands: no leak to be warned of.
    setMaxListeners(0, this.#abort.signal);
    this.#suspectBeforeMs = parts.clock.nowMs();
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Deliveries and firings under way. */
  get inFlight(): number {
    return this.#flights.size;
  }

  get isStopping(): boolean {
    return this.#stopping;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Mailbox: work due at this time was queued. The sleep lasts no longer than until then. */
  wake(dueAtMs: number): void {
    this.#toldOfMs = Math.min(this.#toldOfMs, dueAtMs);
    if (dueAtMs < this.#sleepUntilMs) this.#sleepUntil(dueAtMs);
  }

  /** Mailbox: a new epoch was installed, after the queue was lost or Redis came back. */
  renew(epoch: number): void {
    this.#epoch = epoch;
    this.#suspectBeforeMs = this.#parts.clock.nowMs();
    this.#wake?.();
  }

  /** Mailbox: Redis went away. Until the shard is renewed, no payload is believed. */
  distrust(): void {
    this.#suspectBeforeMs = Infinity;
  }

  /** Prolongs the visibility of what is under way. */
  async touch(): Promise<void> {
    if (this.#flights.size === 0) return;
    const claims = [...this.#flights].map(([id, { token }]) => ({ id, token }));
    await this.#parts.queue.touch(this.shard, claims);
  }

  /**
   * Stops claiming and waits until all that is under way has landed. What has not after `drainMs` is cut off and given back to the
   * queue at once. May be called again; then it waits for the same end.
   */
  async stop(drainMs: number): Promise<void> {
    this.#cease();
    const timer = setTimeout(() => this.#abort.abort(), drainMs);
    await this.#running;
    if (this.#flights.size > 0) await this.#landed.given;
    clearTimeout(timer);
    await this.#flushSettlements();
  }

  #cease(): void {
    this.#stopping = true;
    this.#stopAsked.give();
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      try {
        const { recorder } = this.#parts;
        if (!recorder.isAvailable) await Promise.race([recorder.available(), this.#stopAsked.given]);
        const pauseMs = await this.#claimOnce();
        if (pauseMs > 0) await this.#sleep(Math.min(pauseMs, this.#untilToldOfMs()));
      } catch (error) {
        if (!isTrouble(error)) this.#log.error({ err: error }, 'claim failed');
        await this.#sleep(TROUBLE_PAUSE_MS);
      }
    }
  }

  /** Claims and starts the work. Gives how long to sleep, in milliseconds. */
  async #claimOnce(): Promise<number> {
    const { slots, queue, settings } = this.#parts;
    const taken = await slots.take(Math.min(this.#claimSize, settings.claimBatch));
    let used = 0;
    try {
      if (this.#stopping) return 0;
      this.#toldOfMs = Infinity;
      const epoch = this.#epoch;
      const reply = await queue.claim(this.shard, epoch, taken);
      if (reply.kind !== 'claimed') {
        await this.#refused(epoch);
        return 0;
      }
      used = reply.claims.length;
      for (const claim of reply.claims) this.#begin(claim);
      if (used === taken) {
        this.#claimSize = Math.min(this.#claimSize * 2, settings.claimBatch);
        return 0;
      }
      this.#claimSize = FIRST_CLAIM;
      return this.#pauseMs(reply);
    } finally {
      slots.release(taken - used);
    }
  }

  #pauseMs(reply: Claimed): number {
    const idleUntilMs = reply.nowMs + this.#parts.settings.idleClaimMs;
    const nextMs = Math.min(reply.nextDueAtMs ?? idleUntilMs, reply.nextLapseAtMs ?? idleUntilMs, idleUntilMs);
    return Math.max(nextMs - this.#parts.clock.nowMs(), 1);
  }

  /** How long until the work that came in behind the claim's back; at least 1, in milliseconds. */
  #untilToldOfMs(): number {
    return Math.max(this.#toldOfMs - this.#parts.clock.nowMs(), 1);
  }

  async #refused(refusedEpoch: number): Promise<void> {
    const epoch = await this.#parts.refence(this.shard, refusedEpoch);
    if (epoch !== null) return;
    this.#log.warn({ epoch: refusedEpoch }, 'fenced: the shard has another owner');
    this.#cease();
  }

  #sleep(durationMs: number): Promise<void> {
    if (this.#stopping) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        clearTimeout(this.#timer);
        this.#wake = null;
        this.#sleepUntilMs = 0;
        resolve();
      };
      this.#sleepUntil(this.#parts.clock.nowMs() + durationMs);
    });
  }

  #sleepUntil(untilMs: number): void {
    clearTimeout(this.#timer);
    this.#sleepUntilMs = untilMs;
    const durationMs = untilMs - this.#parts.clock.nowMs();
    // Timers drop fractions; one that rings early finds nothing due.
    if (durationMs > 0) this.#timer = setTimeout(() => this.#wake?.(), Math.ceil(durationMs));
    else this.#wake?.();
  }

  /** Starts the work on a claim. Each claim holds one slot until it has landed. */
  #begin(claim: Claim): void {
    const former = this.#flights.get(claim.id);
    if (former?.isEnding === false) {
      // Still in our hands: whoever works on it settles with the new token.
      former.token = claim.token;
      this.#parts.slots.release(1);
      return;
    }
    const flight: Flight = { token: claim.token, slotIsFree: false, isEnding: false };
    this.#flights.set(claim.id, flight);
    const schedule = parseScheduleEntry(claim.id);
    const work = schedule === null ? this.#deliver(claim, flight) : this.#fire(claim, flight, schedule);
    work
      .catch((error: unknown) => {
        if (!isTrouble(error)) this.#log.error({ err: error, entry: claim.id }, 'work on a claim failed');
        return this.#giveBack(claim.id, flight);
      })
      .finally(() => this.#land(claim.id, flight));
  }

  /** Puts an entry back that could not be worked on. If Redis cannot be told, it lapses; either way its next claim asks the table. */
  async #giveBack(id: string, flight: Flight): Promise<void> {
    try {
      await this.#settle(id, flight, this.#parts.clock.nowMs() + GIVE_BACK_MS);
    } catch (error) {
      if (!isTrouble(error)) this.#log.error({ err: error, entry: id }, 'an entry could not be given back');
    }
  }

  /** What was answered and waits to be recorded needs no slot. */
  #releaseEarly(flight: Flight): void {
    flight.slotIsFree = this.#parts.slots.releaseEarly();
  }

  #land(id: string, flight: Flight): void {
    // It may have been claimed anew while its end was on the way.
    if (this.#flights.get(id) === flight) this.#flights.delete(id);
    if (flight.slotIsFree) this.#parts.slots.recorded();
    else this.#parts.slots.release(1);
    if (this.#stopping && this.#flights.size === 0) this.#landed.give();
  }

  async #fire(claim: Claim, flight: Flight, key: ScheduleKeyOfEntry): Promise<void> {
    const tokenAtEnd = (): string => {
      flight.isEnding = true;
      return flight.token;
    };
    const epoch = this.#epoch;
    const fired = await this.#parts.firing.fire({ shard: this.shard, epoch, entry: claim.id, key, tokenAtEnd });
    if (fired === 'done') return;
    await this.#refused(epoch);
    await this.#giveBack(claim.id, flight);
  }

  async #deliver(claim: Claim, flight: Flight): Promise<void> {
    const fresh = this.#trustedPayload(claim);
    if (fresh !== null) return this.#attempt(fresh, flight, 1);
    const stored = await this.#parts.recorder.readMessage(claim.id);
    if (stored === null || !isToBeSent(stored)) return this.#settle(claim.id, flight, null);
    if (stored.nextAttemptAtMs > this.#parts.clock.nowMs() + ROUNDING_MS) {
      return this.#settle(claim.id, flight, stored.nextAttemptAtMs);
    }
    return this.#attempt(stored, flight, stored.attempts + 1);
  }

  #trustedPayload(claim: Claim): Message | null {
    if (claim.payload === '') return null;
    const message = decodePayload(claim.id, this.shard, claim.payload);
    return message !== null && message.createdAtMs > this.#suspectBeforeMs ? message : null;
  }

  async #attempt(message: Message, flight: Flight, attempt: number): Promise<void> {
    const host = hostOf(message.destination);
    if (!(await this.#enterHost(host))) {
      return this.#settle(message.id, flight, this.#parts.deferrals.backAtMs(host, this.#parts.clock.nowMs()));
    }
    const startedAtMs = performance.now();
    let outcome: Outcome | null;
    try {
      outcome = await this.#parts.attempts.make(message, attempt, this.#abort.signal);
    } finally {
      this.#parts.hosts.leave(host);
      this.#parts.deferrals.observe(host, performance.now() - startedAtMs);
    }
    if (outcome === null) return this.#settle(message.id, flight, this.#parts.clock.nowMs());
    this.#releaseEarly(flight);
    const following = await this.#parts.attempts.record(outcome);
    this.#parts.onAttempt(following);
    this.#queueReleased(following.recorded.released);
    for (const callback of following.outcome.callbacks) {
      this.#parts.offers.offer(callback.shard, { id: callback.id, dueAtMs: callback.dueAtMs, payload: '' });
    }
    await this.#settle(message.id, flight, following.kind === 'again' ? following.atMs : null);
  }

  /** False when the host is at its limit and so many wait for it that this one should come back later. */
  async #enterHost(host: string): Promise<boolean> {
    const ticket = this.#parts.hosts.enter(host);
    if (ticket.kind === 'full') return false;
    if (ticket.kind === 'wait') await ticket.ready;
    return true;
  }

  #queueReleased(released: readonly Released[]): void {
    for (const { id, shard, dueAtMs } of released) this.#parts.offers.offer(shard, { id, dueAtMs, payload: '' });
  }

  /** Ends a claim; those of one tick go together. What cannot be told to Redis lapses, and the table is asked. */
  async #settle(id: string, flight: Flight, backAtMs: number | null): Promise<void> {
    flight.isEnding = true;
    this.#settlements.push({ id, token: flight.token, backAtMs: backAtMs === null ? null : Math.ceil(backAtMs) });
    this.#settled ??= new Promise((resolve) => setImmediate(resolve)).then(() => this.#flushSettlements());
    await this.#settled;
  }

  #settled: Promise<void> | null = null;

  async #flushSettlements(): Promise<void> {
    this.#settled = null;
    const settlements = this.#settlements;
    this.#settlements = [];
    if (settlements.length === 0) return;
    await this.#parts.queue.settle(this.shard, settlements);
    const soonest = Math.min(...settlements.map(({ backAtMs }) => backAtMs ?? Infinity));
    this.wake(soonest);
  }
}

function isToBeSent(stored: StoredMessage): boolean {
  return stored.state === 'pending' && !stored.held;
}

/** With its port: a slow service holds up no other on the same machine. An unreadable URL fails its attempt by itself. */
function hostOf(url: string): string {
  return parseTarget(url)?.origin ?? '';
}

/** Redis or the table is away: known to those who watch them, and to be waited out. */
function isTrouble(error: unknown): boolean {
  return error instanceof CarillonError;
}
