/**
 * Judges the schedules: each has exactly its occurrences, none while it was paused or after it was deleted, none of an old version
 * after an edit was acknowledged, and none is ever left without a next time (I2).
 */
import type { Evidence, MessageRecord, ScheduleChange, ScheduleHistory } from '../evidence.js';
import { clockTime, Findings, groupBy, type Finding } from './findings.js';

export interface SchedulesVerdict {
  readonly occurrences: number;
  readonly missing: readonly Finding[];
  readonly unwanted: readonly Finding[];
  readonly idle: readonly Finding[];
  /** Occurrences that were due and not yet fired when a pause or a deletion came: they are given up by that, not lost. */
  readonly overtaken: number;
}

/** Redis's clock as a node estimates it, against this process's. */
const CLOCK_TOLERANCE_MS = 20;
const VERSION_IN_DESTINATION = /[?&]v=(\d+)/;

/** A time in which a schedule was active: for certain from `surelyFromMs` to `surelyToMs`, and at most in the wider one. */
interface Stretch {
  readonly possiblyFromMs: number;
  readonly surelyFromMs: number;
  surelyToMs: number;
  possiblyToMs: number;
}

export function judgeSchedules(evidence: Evidence): SchedulesVerdict {
  const missing = new Findings();
  const unwanted = new Findings();
  const idle = new Findings();
  const rowsOf = groupBy(
    evidence.messages.filter(({ kind }) => kind === 'occurrence'),
    ({ scheduleId }) => scheduleId,
  );
  const disturbed = disturbedAt(evidence);
  let overtaken = 0;
  for (const history of evidence.schedules) {
    const rows = [...(rowsOf.get(history.id) ?? [])].sort((a, b) => (a.occurrenceAtMs ?? 0) - (b.occurrenceAtMs ?? 0));
    const stretches = stretchesOf(history, evidence.endedAtMs);
    checkTimes(history, rows, stretches, unwanted);
    checkSkips(history, rows, evidence.misfireGraceMs, unwanted);
    checkVersions(history, rows, unwanted);
    for (const stretch of stretches) overtaken += checkStretch(history, rows, stretch, disturbed, missing);
  }
  for (const sample of evidence.samples) {
    for (const id of sample.idleSchedules) idle.add('active, but no next time', `${id} at ${clockTime(sample.atMs)}`);
  }
  return {
    occurrences: evidence.messages.filter(({ kind }) => kind === 'occurrence').length,
    missing: missing.list(),
    unwanted: unwanted.list(),
    idle: idle.list(),
    overtaken,
  };
}

function stretchesOf({ changes }: ScheduleHistory, endMs: number): Stretch[] {
  const stretches: Stretch[] = [];
  let open: Stretch | null = null;
  for (const change of changes) {
    const ackedAtMs = change.acknowledgedAtMs ?? Infinity;
    if (change.what === 'create' || change.what === 'resume') {
      if (open !== null) continue;
      open = {
        possiblyFromMs: change.askedAtMs,
        surelyFromMs: ackedAtMs,
        surelyToMs: endMs,
        possiblyToMs: Infinity,
      };
      stretches.push(open);
    } else if (change.what === 'pause' || change.what === 'delete') {
      if (open === null) continue;
      open.surelyToMs = change.askedAtMs;
      open.possiblyToMs = ackedAtMs;
      open = null;
    }
  }
  return stretches;
}

/** Every occurrence lies on the schedule's grid and in a time in which the schedule may have been active. */
function checkTimes(
  { id, periodMs, onTheClock }: ScheduleHistory,
  rows: readonly MessageRecord[],
  stretches: readonly Stretch[],
  unwanted: Findings,
): void {
  const phaseMs = onTheClock ? 0 : (rows[0]?.occurrenceAtMs ?? 0) % periodMs;
  for (const { occurrenceAtMs, createdAtMs } of rows) {
    if (occurrenceAtMs === null) continue;
    if (occurrenceAtMs % periodMs !== phaseMs) {
      unwanted.add('an occurrence off the grid', `${id} ${clockTime(occurrenceAtMs)}`);
    }
    const within = stretches.some(
      ({ possiblyFromMs, possiblyToMs }) =>
        occurrenceAtMs >= possiblyFromMs - CLOCK_TOLERANCE_MS &&
        occurrenceAtMs <= possiblyToMs &&
        createdAtMs <= possiblyToMs + CLOCK_TOLERANCE_MS,
    );
    if (!within) unwanted.add('an occurrence while paused or deleted', `${id} ${clockTime(occurrenceAtMs)}`);
  }
}

/** What a change passed over, by the reason that is recorded. */
const CHANGE_OF_REASON: Readonly<Record<string, ScheduleChange['what']>> = {
  edited: 'edit',
  paused: 'pause',
  deleted: 'delete',
};

function checkSkips(
  { changes }: ScheduleHistory,
  rows: readonly MessageRecord[],
  misfireGraceMs: number,
  unwanted: Findings,
): void {
  const wasChanged = ({ reason, createdAtMs }: MessageRecord): boolean =>
    changes.some(
      ({ what, askedAtMs, acknowledgedAtMs }) =>
        what === CHANGE_OF_REASON[reason ?? ''] &&
        createdAtMs >= askedAtMs - CLOCK_TOLERANCE_MS &&
        createdAtMs <= (acknowledgedAtMs ?? Infinity) + CLOCK_TOLERANCE_MS,
    );
  for (const row of rows) {
    if (row.state !== 'skipped') continue;
    const lateMs = row.createdAtMs - (row.occurrenceAtMs ?? 0);
    const isMisfire = row.reason === 'misfire' && lateMs >= misfireGraceMs;
    if (!isMisfire && !wasChanged(row)) {
      unwanted.add(
        'an occurrence skipped without cause',
        `${row.scheduleId} ${clockTime(row.occurrenceAtMs)}: ${row.reason}, ${lateMs} ms late`,
      );
    }
  }
}

/** The version in a destination is that of an edit which was asked for before, and not yet replaced by an acknowledged one. */
function checkVersions({ id, changes }: ScheduleHistory, rows: readonly MessageRecord[], unwanted: Findings): void {
  const edits = changes.filter(({ what }) => what === 'create' || what === 'edit');
  const latestBefore = (atMs: number, timeOf: (change: ScheduleChange) => number): number =>
    edits.reduce((version, change) => (timeOf(change) < atMs ? Math.max(version, change.version) : version), 0);
  for (const { destination, createdAtMs, occurrenceAtMs } of rows) {
    const version = Number(VERSION_IN_DESTINATION.exec(destination)?.[1] ?? 0);
    const oldest = latestBefore(createdAtMs - CLOCK_TOLERANCE_MS, (change) => change.acknowledgedAtMs ?? Infinity);
    const newest = latestBefore(createdAtMs + CLOCK_TOLERANCE_MS, (change) => change.askedAtMs);
    const name = `${id} ${clockTime(occurrenceAtMs)}: version ${version}`;
    if (version < oldest) unwanted.add('an old version after its edit', `${name}, expected ${oldest}`);
    if (version > newest) unwanted.add('a version before its edit', `${name}, expected ${newest}`);
  }
}

/** No time of the grid is missing. Gives how many were overtaken by the pause or deletion that ended the stretch. */
function checkStretch(
  { id, periodMs, onTheClock }: ScheduleHistory,
  rows: readonly MessageRecord[],
  stretch: Stretch,
  disturbed: (fromMs: number, toMs: number) => boolean,
  missing: Findings,
): number {
  const { surelyFromMs, surelyToMs, possiblyFromMs, possiblyToMs } = stretch;
  const ranges = rows
    .filter((row) => (row.occurrenceAtMs ?? 0) >= possiblyFromMs - CLOCK_TOLERANCE_MS)
    .filter((row) => (row.occurrenceAtMs ?? 0) <= possiblyToMs)
    .map((row) => ({ fromMs: row.occurrenceAtMs ?? 0, toMs: row.coversUntilMs ?? row.occurrenceAtMs ?? 0 }));
  const first = ranges[0];
  const last = ranges.at(-1);
  // The first one is due within a period of the acknowledgement; a stretch too short for that may be empty.
  const firstByMs = onTheClock ? Math.ceil(surelyFromMs / periodMs) * periodMs : surelyFromMs + periodMs;
  if (first === undefined || last === undefined) {
    if (firstByMs >= surelyToMs) return 0;
    if (disturbed(surelyFromMs, surelyToMs)) return Math.floor((surelyToMs - firstByMs) / periodMs) + 1;
    missing.add('no occurrence at all', `${id} from ${clockTime(surelyFromMs)} to ${clockTime(surelyToMs)}`);
    return 0;
  }
  if (first.fromMs > firstByMs) missing.add('the first occurrence', `${id} ${clockTime(firstByMs)}`);
  ranges.forEach((range, index) => {
    const next = ranges[index + 1];
    if (next !== undefined && next.fromMs > range.toMs + periodMs) {
      missing.add('a gap', `${id} after ${clockTime(range.toMs)}, next ${clockTime(next.fromMs)}`);
    }
  });
  const lastByMs = surelyToMs - periodMs - UNFIRED_MS;
  if (last.toMs >= lastByMs) return 0;
  if (possiblyToMs !== Infinity && disturbed(last.toMs, possiblyToMs)) {
    return Math.floor((surelyToMs - last.toMs) / periodMs);
  }
  missing.add('the last occurrence', `${id} after ${clockTime(last.toMs)}, active until ${clockTime(surelyToMs)}`);
  return 0;
}

/** A pause may come between the nominal time of an occurrence and its firing, which takes a moment. */
const UNFIRED_MS = 500;

/** Whether anything was broken or recovering between two times. */
function disturbedAt({ faults, endedAtMs }: Evidence): (fromMs: number, toMs: number) => boolean {
  return (fromMs, toMs) =>
    faults.some((fault) => fault.startedAtMs <= toMs && (fault.recoveredAtMs ?? endedAtMs) >= fromMs);
}
