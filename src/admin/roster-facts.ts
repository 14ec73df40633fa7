// The part of the roster that the console needs.

export interface RosterMember {
  readonly id: string;
  readonly name: string;
  readonly uptimeMs: number;
  /** Since its last heartbeat, when the roster was read. */
  readonly heardMs: number;
  readonly draining: boolean;
  readonly able: boolean;
}

export interface RosterFacts {
  readonly members: readonly RosterMember[];
  /** By shard; the owner may be dead. */
  readonly owners: readonly (string | null)[];
}
