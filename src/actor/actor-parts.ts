// The dependencies that the actors of a node share. compose builds them, tests build their own.

import type { Logger } from 'pino';
import type { Clock, ProcessTime } from '../domain/clock.js';
import type { Enqueuer } from '../redis/enqueuer.js';
import type { ShardQueue } from '../redis/shard-queue.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import type { Admission } from './admission.js';
import type { Attempts, NextStep } from './attempts.js';
import type { FailingEntries } from './failing-entries.js';
import type { Firing } from './firing.js';
import type { Semaphore } from './semaphore.js';

export interface ShardActorSettings {
  readonly claimBatch: number;
  /** Longest sleep with nothing due, in milliseconds. */
  readonly idleClaimMs: number;
  /** A delivery that starts later than this after its claim, or after its row was read, reads the row again first. */
  readonly recheckAfterMs: number;
}

/** The dependencies that the actors of a node share. */
export interface ActorParts {
  readonly queue: Pick<ShardQueue, 'claim' | 'settle' | 'extendVisibility'>;
  readonly enqueuer: Pick<Enqueuer, 'enqueue'>;
  readonly recorder: Pick<Recorder, 'isAvailable' | 'available' | 'readMessage'>;
  readonly attempts: Pick<Attempts, 'make' | 'record'>;
  readonly firing: Pick<Firing, 'fire'>;
  readonly semaphore: Semaphore;
  readonly admission: Pick<Admission, 'enter'>;
  /** Decides what happens to entries that cannot be processed. */
  readonly faulty: Pick<FailingEntries, 'judge' | 'forget'>;
  readonly clock: Clock;
  readonly time: ProcessTime;
  readonly log: Logger;
  readonly settings: ShardActorSettings;
  /** Returns whether the shard may be worked on now; called before each claim. */
  readonly isTrusted: (shard: number) => boolean;
  /** Wakes the actor of a shard, on this node or another. */
  readonly wake: (shard: number, dueAtMs: number) => void;
  /** Called when the actor halted itself because the shard has another owner. */
  readonly onFenced: (shard: number) => void;
  /**
   * Called when Redis refused this epoch: the shard's state is missing, or a newer epoch is installed, which may be
   * this node's own although the actor does not know it yet. Returns the epoch to continue with, or null when the shard
   * has another owner.
   */
  readonly renewEpoch: (shard: number, refusedEpoch: number) => Promise<number | null>;
  /** Counts a claim by its number of entries; null when its epoch was refused. */
  readonly onClaim?: (entries: number | null) => void;
  /** Counts the result of an attempt. */
  readonly onAttempt: (nextStep: NextStep) => void;
}
