// What happened to this node's shards, and whom it saw come and go: the last of it is remembered, whether anybody watches or not.

import type { Clock } from '../domain/clock.js';
import type { ClusterEvent, MovedEvent, NodeEvent, ShardsEvent, SweptEvent } from './protocol.js';
import type { RosterFacts, RosterMember } from './roster-facts.js';
import type { SweepName } from './node-figures.js';

/** Events that a node remembers. */
const KEPT = 100;
/** Sweeps that moved something within this time are told as one event. */
const SWEEPS_TOGETHER_MS = 1_000;

type What = NodeEvent | MovedEvent | ShardsEvent | SweptEvent;

/** Hears of an event. `isOurs`: this node did it; otherwise every node sees it for itself. */
export type OnEvent = (event: ClusterEvent, isOurs: boolean) => void;

export class NodeEvents {
  readonly #node: string;
  readonly #clock: Clock;
  readonly #kept: ClusterEvent[] = [];
  readonly #swept = new Map<SweepName, { sinceMs: number; sweeps: number; queued: number }>();
  readonly #leaseMs: number;
  /** What the roster had before, and when it was read. */
  #before: RosterFacts | null = null;
  #beforeAtMs = 0;
  /** The owner of each shard that was known last. */
  readonly #owners: (string | null)[] = [];
  #count = 0;
  #onEvent: OnEvent = () => undefined;

  constructor(node: string, clock: Clock, leaseMs: number) {
    this.#node = node;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Says who hears of each event at once. */
  listen(onEvent: OnEvent): void {
    this.#onEvent = onEvent;
  }

  /** Those that are remembered, the oldest first. */
  all(): readonly ClusterEvent[] {
    this.flush(0);
    return this.#kept;
  }

  /** The roster was read. */
  seen(view: RosterFacts): void {
    const nowMs = this.#clock.nowMs();
    const unseenMs = nowMs - this.#beforeAtMs;
    const before = new Map((this.#before?.members ?? []).map((member) => [member.id, member]));
    for (const member of view.members) {
      const known = before.get(member.id);
      before.delete(member.id);
      // Whom a node finds when it comes was there already.
      if (known === undefined && (this.#before !== null || member.id === this.#node)) this.#sawNode('joined', member);
      if (known?.draining === false && member.draining) this.#sawNode('draining', member);
    }
    for (const gone of before.values()) {
      // Whoever leaves in order may do so between two looks at the roster. The dead stay on it for a lease.
      const isDead = !gone.draining && gone.heardMs + unseenMs >= this.#leaseMs;
      this.#sawNode(isDead ? 'lapsed' : 'left', gone);
    }
    this.#before = view;
    this.#beforeAtMs = nowMs;
    view.owners.forEach((owner, shard) => (this.#owners[shard] = owner ?? this.#owners[shard] ?? null));
  }

  took(shards: readonly number[], durationMs: number): void {
    if (shards.length === 0) return;
    const owners = new Set(shards.map((shard) => this.#owners[shard] ?? null));
    const [from = null] = owners.size === 1 ? owners : [null];
    this.#did({ kind: 'moved', shards, from, to: this.#node, durationMs: Math.round(durationMs) });
  }

  shards(kind: ShardsEvent['kind'], shards: readonly number[]): void {
    if (shards.length > 0) this.#did({ kind, shards, node: this.#node });
  }

  swept(sweep: SweepName, queued: number): void {
    if (queued === 0) return;
    const atMs = this.#clock.nowMs();
    this.flush(SWEEPS_TOGETHER_MS);
    const { sinceMs, sweeps, queued: before } = this.#swept.get(sweep) ?? { sinceMs: atMs, sweeps: 0, queued: 0 };
    this.#swept.set(sweep, { sinceMs, sweeps: sweeps + 1, queued: before + queued });
  }

  /** Tells of sweeps that began to be counted this long ago. */
  flush(olderThanMs: number): void {
    for (const [sweep, { sinceMs, sweeps, queued }] of this.#swept) {
      if (this.#clock.nowMs() - sinceMs < olderThanMs) continue;
      this.#swept.delete(sweep);
      this.#did({ kind: 'swept', node: this.#node, sweep, sweeps, queued });
    }
  }

  #sawNode(kind: NodeEvent['kind'], { id, name }: RosterMember): void {
    this.#add({ kind, node: id, name }, false);
  }

  #did(what: What): void {
    this.#add(what, true);
  }

  #add(what: What, isOurs: boolean): void {
    this.#count += 1;
    const event = { id: `${this.#node}.${this.#count}`, atMs: Math.round(this.#clock.nowMs()), ...what };
    this.#kept.push(event);
    if (this.#kept.length > KEPT) this.#kept.shift();
    this.#onEvent(event, isOurs);
  }
}
