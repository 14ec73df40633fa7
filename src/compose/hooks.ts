// Connects the callbacks of the modules to the metrics and to the console's statistics.

import type { Logger } from 'pino';
import type { ActorParts } from '../actor/actor-parts.js';
import type { SweeperSettings } from '../actor/sweeper.js';
import { NodeEvents } from '../admin/node-events.js';
import { NodeFigures } from '../admin/node-figures.js';
import type { RosterFacts } from '../admin/roster-facts.js';
import type { Clock } from '../domain/clock.js';
import type { OnTier } from '../intake/node-intake.js';
import type { MembershipEvents } from '../membership/membership.js';
import type { RecorderSettings } from '../postgres/messages/recorder.js';
import type { NodeMetrics } from '../telemetry/metrics.js';

/** The statistics and events of this node for the console. */
export interface NodeStats {
  readonly figures: NodeFigures;
  readonly events: NodeEvents;
  /** Receives the roster of each heartbeat; set while there is a receiver. */
  onView: (view: RosterFacts) => void;
}

export interface NodeHooks {
  readonly membership: MembershipEvents;
  readonly onSwept: NonNullable<SweeperSettings['onSwept']>;
  readonly onFenced: (shard: number) => void;
  readonly onFired: (published: number, skipped: readonly string[]) => void;
  readonly onAccept: (result: 'accepted' | 'deduplicated' | 'failed', messages: number) => void;
  readonly onTier: OnTier;
  readonly onClaim: NonNullable<ActorParts['onClaim']>;
  readonly onAttempt: ActorParts['onAttempt'];
  readonly onGroup: NonNullable<RecorderSettings['onGroup']>;
}

export function makeNodeStats(identity: string, clock: Clock, leaseMs: number): NodeStats {
  return { figures: new NodeFigures(), events: new NodeEvents(identity, clock, leaseMs), onView: () => undefined };
}

export function makeHooks(metrics: NodeMetrics, stats: NodeStats, clock: Clock, log: Logger): NodeHooks {
  const { figures, events } = stats;
  // An error of the console must never stop the work it shows.
  const show = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, 'the console failed');
    }
  };
  return {
    membership: {
      onHandedOver: (shards, durationMs) => metrics.given(shards, durationMs),
      onAcquired: (shards, durationMs, taken) => {
        metrics.taken(shards, durationMs);
        show(() => events.took(taken, durationMs));
      },
      onExpired: (shards, lost) => {
        metrics.lapsed(shards);
        show(() => events.shards('leasesLapsed', lost));
      },
      onHandingOver: (shards) => show(() => events.shards('given', shards)),
      // The roster is updated before the events that follow from it are published.
      onView: (view) => {
        show(() => {
          stats.onView(view);
          events.seen(view);
        });
      },
    },
    onSwept: (end) => {
      metrics.swept(end);
      const { sweep, result, queued } = end;
      figures.swept(sweep, result === 'failed', queued, Math.round(clock.nowMs()));
      show(() => events.swept(sweep, queued));
    },
    onFenced: (shard) => {
      metrics.fenced();
      show(() => events.shards('fenced', [shard]));
    },
    onFired: (published, skipped) => {
      metrics.fired(published, skipped);
      figures.fired(published, skipped.length);
    },
    onAccept: (result, messages) => {
      metrics.accepted(result, messages);
      if (result === 'accepted') figures.accepted(messages);
    },
    onTier: (tier, messages) => metrics.acceptedInTier(tier, messages),
    onClaim: (entries) => metrics.claimed(entries),
    onGroup: (kind, items, durationMs) => metrics.grouped(kind, items, durationMs),
    onAttempt: ({ outcome, recorded }) => {
      metrics.attempted(outcome, recorded.taken);
      figures.attempted(outcome, recorded.taken);
    },
  };
}
