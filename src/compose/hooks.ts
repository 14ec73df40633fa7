// What the rooms tell of their work, handed to those who count it: the metrics, and what the console shows.

import type { ActorParts } from '../actor/actor-parts.js';
import type { SweeperSettings } from '../actor/sweeper.js';
import { NodeEvents } from '../admin/node-events.js';
import { NodeFigures } from '../admin/node-figures.js';
import type { RosterFacts } from '../admin/roster-facts.js';
import type { Clock } from '../domain/clock.js';
import type { MembershipEvents } from '../membership/membership.js';
import type { NodeMetrics } from '../telemetry/metrics.js';

/** What this node remembers of itself for the console. */
export interface NodeDiary {
  readonly figures: NodeFigures;
  readonly events: NodeEvents;
  /** Hears what each heartbeat read; set when there is somebody to hear it. */
  onView: (view: RosterFacts) => void;
}

export interface NodeHooks {
  readonly membership: MembershipEvents;
  readonly onSwept: NonNullable<SweeperSettings['onSwept']>;
  readonly onFenced: (shard: number) => void;
  readonly onFired: (published: number, skipped: readonly string[]) => void;
  readonly onAccept: (result: 'accepted' | 'deduplicated' | 'failed', messages: number) => void;
  readonly onAttempt: NonNullable<ActorParts['onAttempt']>;
}

export function makeDiary(identity: string, clock: Clock, leaseMs: number): NodeDiary {
  return { figures: new NodeFigures(), events: new NodeEvents(identity, clock, leaseMs), onView: () => undefined };
}

export function makeHooks(metrics: NodeMetrics, diary: NodeDiary, clock: Clock): NodeHooks {
  const { figures, events } = diary;
  return {
    membership: {
      onGiven: (shards, durationMs) => metrics.given(shards, durationMs),
      onTaken: (shards, durationMs, taken) => {
        metrics.taken(shards, durationMs);
        events.took(taken, durationMs);
      },
      onLapsed: (shards, lost) => {
        metrics.lapsed(shards);
        events.shards('leasesLapsed', lost);
      },
      onGiving: (shards) => events.shards('given', shards),
      onView: (view) => {
        // What the view shows is there when the events that follow from it are told.
        diary.onView(view);
        events.seen(view);
      },
    },
    onSwept: (sweep, result, queued, durationMs) => {
      metrics.swept(sweep, result, queued, durationMs);
      figures.swept(sweep, result === 'failed', queued, Math.round(clock.nowMs()));
      events.swept(sweep, queued);
    },
    onFenced: (shard) => {
      metrics.fenced();
      events.shards('fenced', [shard]);
    },
    onFired: (published, skipped) => {
      metrics.fired(published, skipped);
      figures.fired(published, skipped.length);
    },
    onAccept: (result, messages) => {
      metrics.accepted(result, messages);
      if (result === 'accepted') figures.accepted(messages);
    },
    onAttempt: ({ outcome, recorded }) => {
      metrics.attempted(outcome, recorded.taken);
      figures.attempted(outcome, recorded.taken);
    },
  };
}
