// The latest events of this node's shards, and the nodes that it saw join and leave; stored whether anybody watches or
// not.

import type { Clock } from '../domain/clock.js';
import type { ClusterEvent, MovedEvent, NodeEvent, ShardsEvent, SweptEvent } from './protocol.js';
import type { RosterFacts, RosterMember } from './roster-facts.js';
import type { SweepName } from './node-figures.js';

/** Events that a node stores. */
const MAX_EVENTS = 100;
/** Sweeps that queued rows within this time are one event. */
const SWEEPS_TOGETHER_MS = 1_000;

type What = NodeEvent | MovedEvent | ShardsEvent | SweptEvent;

/** Receives an event. `isOurs`: this node caused it; otherwise every node observes it itself. */
export type OnEvent = (event: ClusterEvent, isOurs: boolean) => void;

export class NodeEvents {
  readonly #node: string;
  readonly #clock: Clock;
  readonly #events: ClusterEvent[] = [];
  readonly #swept = new Map<SweepName, { sinceMs: number; sweeps: number; queued: number }>();
  readonly #leaseMs: number;
  /** The previous roster, and when it was read. */
  #before: RosterFacts | null = null;
  #beforeAtMs = 0;
  /** The last known owner of each shard. */
  readonly #owners: (string | null)[] = [];
  #count = 0;
  #onEvent: OnEvent = () => undefined;

  constructor(node: string, clock: Clock, leaseMs: number) {
    this.#node = node;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Sets the receiver of each event. */
  listen(onEvent: OnEvent): void {
    this.#onEvent = onEvent;
  }

  /** Returns the stored events, the oldest first. */
  all(): readonly ClusterEvent[] {
    this.flush(0);
    return this.#events;
  }

  /** Called when the roster was read. */
  seen(view: RosterFacts): void {
    const nowMs = this.#clock.nowMs();
    const unseenMs = nowMs - this.#beforeAtMs;
    const before = new Map((this.#before?.members ?? []).map((member) => [member.id, member]));
    for (const member of view.members) {
      const known = before.get(member.id);
      before.delete(member.id);
      // Nodes in the first roster were there already.
      if (known === undefined && (this.#before !== null || member.id === this.#node)) this.#sawNode('joined', member);
      if (known?.draining === false && member.draining) this.#sawNode('draining', member);
    }
    for (const member of before.values()) {
      // A node that leaves in order may do so between two reads of the roster. A dead node stays on it for a lease.
      const isDead = !member.draining && member.heardMs + unseenMs >= this.#leaseMs;
      this.#sawNode(isDead ? 'lapsed' : 'left', member);
    }
    this.#before = view;
    this.#beforeAtMs = nowMs;
    view.owners.forEach((owner, shard) => (this.#owners[shard] = owner ?? this.#owners[shard] ?? null));
  }

  took(shards: readonly number[], durationMs: number): void {
    if (shards.length === 0) return;
    const owners = new Set(shards.map((shard) => this.#owners[shard] ?? null));
    const [from = null] = owners.size === 1 ? owners : [null];
    this.#addOurs({ kind: 'moved', shards, from, to: this.#node, durationMs: Math.round(durationMs) });
  }

  shards(kind: ShardsEvent['kind'], shards: readonly number[]): void {
    if (shards.length > 0) this.#addOurs({ kind, shards, node: this.#node });
  }

  swept(sweep: SweepName, queued: number): void {
    if (queued === 0) return;
    const atMs = this.#clock.nowMs();
    this.flush(SWEEPS_TOGETHER_MS);
    const { sinceMs, sweeps, queued: before } = this.#swept.get(sweep) ?? { sinceMs: atMs, sweeps: 0, queued: 0 };
    this.#swept.set(sweep, { sinceMs, sweeps: sweeps + 1, queued: before + queued });
  }

  /** Publishes sweeps whose counting started this long ago. */
  flush(olderThanMs: number): void {
    for (const [sweep, { sinceMs, sweeps, queued }] of this.#swept) {
      if (this.#clock.nowMs() - sinceMs < olderThanMs) continue;
      this.#swept.delete(sweep);
      this.#addOurs({ kind: 'swept', node: this.#node, sweep, sweeps, queued });
    }
  }

  #sawNode(kind: NodeEvent['kind'], { id, name }: RosterMember): void {
    this.#add({ kind, node: id, name }, false);
  }

  #addOurs(what: What): void {
    this.#add(what, true);
  }

  #add(what: What, isOurs: boolean): void {
    this.#count += 1;
    const event = { id: `${this.#node}.${this.#count}`, atMs: Math.round(this.#clock.nowMs()), ...what };
    this.#events.push(event);
    if (this.#events.length > MAX_EVENTS) this.#events.shift();
    this.#onEvent(event, isOurs);
  }
}
