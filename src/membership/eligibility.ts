// Who counts for shards: hysteresis, so that a node that comes and goes moves nothing.

import { type Member, nameOf, type RosterView } from './roster.js';

/** Deaths of processes of a name within the remembered time after which it has to wait longer. */
const PATIENCE_DEATHS = 2;
const MAX_DOUBLINGS = 4;
const LONGEST_GRACE_MS = 60_000;

/**
 * Members that the plan may give shards to: those that have some, and those that have been up for `joinGraceMs` (twice as long for each
 * death of their name beyond the first, at most a minute). Those that are unable to work are left out, unless all are: then it is the stores
 * that are away, and nothing is to move. In a cluster that is starting, everybody.
 */
export function eligibleMembers(view: RosterView, joinGraceMs: number): string[] {
  const present = presentMembers(view);
  const owners = new Set(view.owners);
  const eligible = present.filter(
    (member) =>
      owners.has(member.id) || member.uptimeMs >= graceMs(view.deaths.get(nameOf(member.id)) ?? 0, joinGraceMs),
  );
  return (eligible.length > 0 && !isStarting(view, joinGraceMs) ? eligible : present).map((member) => member.id);
}

/**
 * Whether nobody has been up for the join grace yet: nodes that start together share from the beginning, whoever of them was there first.
 */
export function isStarting(view: RosterView, joinGraceMs: number): boolean {
  return presentMembers(view).every((member) => member.uptimeMs < joinGraceMs);
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
