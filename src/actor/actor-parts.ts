// What the actors of a node are made of and share; compose makes it, tests make their own.

import type { Logger } from 'pino';
import type { Clock, ProcessTime } from '../domain/clock.js';
import type { Offers } from '../redis/offers.js';
import type { ShardQueue } from '../redis/shard-queue.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import type { Admission } from './admission.js';
import type { Attempts, Following } from './attempts.js';
import type { FaultyEntries } from './faulty-entries.js';
import type { Firing } from './firing.js';
import type { Slots } from './slots.js';

export interface ShardActorSettings {
  readonly claimBatch: number;
  /** Longest sleep with nothing due, in milliseconds. */
  readonly idleClaimMs: number;
  /** A delivery that begins later than this after its claim, or after its row was read, reads the row again first. */
  readonly recheckAfterMs: number;
}

/** What the actors of a node share. */
export interface ActorParts {
  readonly queue: Pick<ShardQueue, 'claim' | 'settle' | 'touch'>;
  readonly offers: Pick<Offers, 'offer'>;
  readonly recorder: Pick<Recorder, 'isAvailable' | 'available' | 'readMessage'>;
  readonly attempts: Pick<Attempts, 'make' | 'record'>;
  readonly firing: Pick<Firing, 'fire'>;
  readonly slots: Slots;
  readonly admission: Pick<Admission, 'enter'>;
  /** What becomes of entries that cannot be worked on. */
  readonly faulty: Pick<FaultyEntries, 'judge' | 'forget'>;
  readonly clock: Clock;
  readonly time: ProcessTime;
  readonly log: Logger;
  readonly settings: ShardActorSettings;
  /** Whether the shard may be worked on now: asked before each claim. */
  readonly isTrusted: (shard: number) => boolean;
  /** Wakes a shard's actor wherever it is. */
  readonly wake: (shard: number, dueAtMs: number) => void;
  /** Called when the actor halted by itself, because the shard has another owner. */
  readonly onFenced: (shard: number) => void;
  /**
   * Called when Redis refused this epoch: the shard's state is gone, or a newer epoch is installed. That may be this node's own, which the
   * actor does not know yet. Gives the epoch to go on with, or null when the shard has another owner by now.
   */
  readonly refence: (shard: number, refusedEpoch: number) => Promise<number | null>;
  /** Counts a claim: so many entries, or (null) its epoch was refused. */
  readonly onClaim?: (entries: number | null) => void;
  /** Counts what became of an attempt. */
  readonly onAttempt: (following: Following) => void;
}
