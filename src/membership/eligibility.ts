// Decides which members get shards. Hysteresis: a node that leaves and joins repeatedly moves nothing.

import { type Member, nameOf, type RosterView } from './roster.js';

/** Deaths of processes of a name, within the remembered time, from which its grace period grows. */
const PATIENCE_DEATHS = 2;
const MAX_DOUBLINGS = 4;
const LONGEST_GRACE_MS = 60_000;
/** The uptime of a member does not grow beyond this many heartbeats without one: it may be dead. */
const MAX_SILENT_HEARTBEATS = 2;

export interface Patience {
  /** A node is eligible for new shards only after this uptime. */
  readonly joinGraceMs: number;
  readonly heartbeatMs: number;
}

/**
 * Returns the members that the plan may assign shards to: those that have been up for `joinGraceMs` (twice as long for
 * each death of their name beyond the first, at most a minute), and those that joined within it of the oldest member
 * (unless they keep dying), so that nodes that start together share from the beginning. Unhealthy members are left out,
 * unless all are unhealthy: then the stores are unavailable, and no shard must move.
 *
 * A member stays eligible while the same members are present: shards assigned by one heartbeat are not reassigned by
 * the next.
 */
export function eligibleMembers(view: RosterView, patience: Patience): string[] {
  const { joinGraceMs } = patience;
  const present = presentMembers(view);
  const uptimeNowMs = uptimeBy(patience);
  const oldestMs = Math.max(0, ...present.map(uptimeNowMs));
  const isEligible = (member: Member): boolean => {
    const ownGraceMs = graceMs(view.deaths.get(nameOf(member.id)) ?? 0, joinGraceMs);
    const joinedTogether = ownGraceMs === joinGraceMs && oldestMs - uptimeNowMs(member) < joinGraceMs;
    return joinedTogether || uptimeNowMs(member) >= ownGraceMs;
  };
  const eligible = present.filter(isEligible);
  return (eligible.length > 0 ? eligible : present).map((member) => member.id);
}

/**
 * Returns the members that are not eligible yet but may be assigned shards that are free anyway, such as those of a
 * draining node. In a rolling restart the joining nodes then take over from the nodes still to be restarted, instead of
 * all shards moving to the last of these. Excludes names of which a process died within the remembered time, because it
 * may die again with its shards; it keeps the shards that it owns.
 */
export function joining(view: RosterView, eligible: readonly string[]): string[] {
  return presentMembers(view)
    .map(({ id }) => id)
    .filter((id) => !eligible.includes(id) && (view.owners.includes(id) || !view.deaths.has(nameOf(id))));
}

/** Returns whether no member has been up for the join grace period, however long the oldest has been up. */
export function isStarting(view: RosterView, patience: Patience): boolean {
  return presentMembers(view)
    .map(uptimeBy(patience))
    .every((uptimeMs) => uptimeMs < patience.joinGraceMs);
}

/**
 * Returns the uptime of a member as of now: what it reported is as old as its last heartbeat, and each node reads the
 * roster at another moment.
 */
function uptimeBy({ heartbeatMs }: Patience): (member: Member) => number {
  return ({ uptimeMs, heardMs }) => uptimeMs + Math.min(heardMs, MAX_SILENT_HEARTBEATS * heartbeatMs);
}

function presentMembers(view: RosterView): readonly Member[] {
  const present = view.members.filter((member) => !member.draining);
  const able = present.filter((member) => member.able);
  return able.length > 0 ? able : present;
}

function graceMs(deaths: number, joinGraceMs: number): number {
  if (deaths < PATIENCE_DEATHS) return joinGraceMs;
  const doublings = Math.min(deaths - PATIENCE_DEATHS + 1, MAX_DOUBLINGS);
  return Math.max(joinGraceMs, Math.min(joinGraceMs * 2 ** doublings, LONGEST_GRACE_MS));
}
