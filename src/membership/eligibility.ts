// Who counts for shards: hysteresis, so that a node that comes and goes moves nothing.

import { nameOf, type RosterView } from './roster.js';

/** Deaths of processes of a name within the remembered time after which it has to wait longer. */
const PATIENCE_DEATHS = 2;
const MAX_DOUBLINGS = 4;
const LONGEST_GRACE_MS = 60_000;

/**
 * Members that the plan may give shards to: those that have some, and those that have been up for `joinGraceMs` (twice as long for each
 * death of their name beyond the first, at most a minute). Those that are unable to work are left out, unless all are: then it is the stores
 * that are away, and nothing is to move. If no owner is alive, everybody.
 */
export function eligibleMembers(view: RosterView, joinGraceMs: number): string[] {
  const staying = view.members.filter((member) => !member.draining);
  const able = staying.filter((member) => member.able);
  const present = able.length > 0 ? able : staying;
  const owners = new Set(view.owners);
  const eligible = present.filter(
    (member) =>
      owners.has(member.id) || member.uptimeMs >= graceMs(view.deaths.get(nameOf(member.id)) ?? 0, joinGraceMs),
  );
  return (eligible.length > 0 ? eligible : present).map((member) => member.id);
}

/** Whether anybody who is alive owns anything. */
export function hasLiveOwner(view: RosterView): boolean {
  const owners = new Set(view.owners);
  return view.members.some((member) => owners.has(member.id));
}

function graceMs(deaths: number, joinGraceMs: number): number {
  if (deaths < PATIENCE_DEATHS) return joinGraceMs;
  const doublings = Math.min(deaths - PATIENCE_DEATHS + 1, MAX_DOUBLINGS);
  return Math.max(joinGraceMs, Math.min(joinGraceMs * 2 ** doublings, LONGEST_GRACE_MS));
}
