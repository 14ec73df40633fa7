// Who counts for shards: hysteresis, so that a node that comes and goes moves nothing.

import { type Member, nameOf, type RosterView } from './roster.js';

/** Deaths of processes of a name within the remembered time after which it has to wait longer. */
const PATIENCE_DEATHS = 2;
const MAX_DOUBLINGS = 4;
const LONGEST_GRACE_MS = 60_000;
/** A member that has been silent for more heartbeats than that may be dead, and ages no further. */
const SILENT_BEATS = 2;

export interface Patience {
  /** A node counts for new shards only after this much uptime. */
  readonly joinGraceMs: number;
  readonly heartbeatMs: number;
}

/**
 * Members that the plan may give shards to: those that have been up for `joinGraceMs` (twice as long for each death of
 * their name beyond the first, at most a minute), and those that came within it of the one that has been up longest (unless they keep
 * dying): nodes that start together share from the beginning. Those that are unable to work are left out, unless all are: then it is the
 * stores that are away, and nothing is to move.
 *
 * Who counts goes on counting while the same members are there: what one heartbeat gave to a node the next does not take back.
 */
export function eligibleMembers(view: RosterView, patience: Patience): string[] {
  const { joinGraceMs } = patience;
  const present = presentMembers(view);
  const uptimeNowMs = uptimeBy(patience);
  const oldestMs = Math.max(0, ...present.map(uptimeNowMs));
  const counts = (member: Member): boolean => {
    const ownGraceMs = graceMs(view.deaths.get(nameOf(member.id)) ?? 0, joinGraceMs);
    const cameTogether = ownGraceMs === joinGraceMs && oldestMs - uptimeNowMs(member) < joinGraceMs;
    return cameTogether || uptimeNowMs(member) >= ownGraceMs;
  };
  const eligible = present.filter(counts);
  return (eligible.length > 0 ? eligible : present).map((member) => member.id);
}

/**
 * Members that do not count yet and may be given shards that are free anyway, as those of a node that drains: in a rolling restart the
 * newcomers take over from those that are still to be restarted, instead of all shards going to the last of these. Not those of whose name
 * a process died within the remembered time, which would take shards down with it again; what these have they keep.
 */
export function joining(view: RosterView, eligible: readonly string[]): string[] {
  return presentMembers(view)
    .map(({ id }) => id)
    .filter((id) => !eligible.includes(id) && (view.owners.includes(id) || !view.deaths.has(nameOf(id))));
}

/** Whether nobody has been up for the join grace yet, whoever of them was there first. */
export function isStarting(view: RosterView, patience: Patience): boolean {
  return presentMembers(view)
    .map(uptimeBy(patience))
    .every((uptimeMs) => uptimeMs < patience.joinGraceMs);
}

/** By now: what a member said of itself is as old as its last heartbeat, and each node reads it at another moment. */
function uptimeBy({ heartbeatMs }: Patience): (member: Member) => number {
  return ({ uptimeMs, heardMs }) => uptimeMs + Math.min(heardMs, SILENT_BEATS * heartbeatMs);
}

function presentMembers(view: RosterView): readonly Member[] {
  const staying = view.members.filter((member) => !member.draining);
  const able = staying.filter((member) => member.able);
  return able.length > 0 ? able : staying;
}

function graceMs(deaths: number, joinGraceMs: number): number {
  if (deaths < PATIENCE_DEATHS) return joinGraceMs;
  const doublings = Math.min(deaths - PATIENCE_DEATHS + 1, MAX_DOUBLINGS);
  return Math.max(joinGraceMs, Math.min(joinGraceMs * 2 ** doublings, LONGEST_GRACE_MS));
}
