// Builds the snapshot of the cluster from the known facts. Pure: time is an argument, nothing is stored.

import { lagPercentile } from './lag-buckets.js';
import { NEVER_SWEPT } from './node-figures.js';
import type {
  ClusterEvent,
  ClusterFacts,
  NodePicture,
  NodeState,
  Picture,
  Rates,
  ShardLevels,
  ShardPicture,
  StoresPicture,
  SweepPicture,
  SweepsPicture,
} from './protocol.js';
import type { ReportedStats, ShardLevel, Speeds } from './node-report.js';
import type { RosterMember } from './roster-facts.js';

/** Silence of a node that reports four times a second, after which it is suspect. */
const SILENT_MS = 900;
/**
 * Lateness of a heartbeat after which a node without reports (it has another version, or its reports do not arrive) is
 * suspect.
 */
const LATE_MS = 1_500;
/** How long a report is used. */
const REPORT_MS = 2_500;
/** A node without shards for longer than this after its start is not joining: there are more nodes than shards. */
const JOINING_MS = 2 * 60_000;

/** The facts about a node in addition to the roster. All ages are in ms. */
export interface Heard {
  /** Since its last report; null when there was none. */
  readonly heardAgeMs: number | null;
  readonly report: ReportedStats | null;
  readonly reportAgeMs: number;
}

export interface Known {
  /** By the cluster's clock. */
  readonly atMs: number;
  readonly cluster: ClusterFacts;
  readonly members: readonly RosterMember[];
  /** Since the roster was read. */
  readonly rosterAgeMs: number;
  readonly heard: ReadonlyMap<string, Heard>;
  readonly shards: readonly ShardPicture[];
  /** By shard; undefined when nothing was read yet. */
  readonly levels: readonly (ShardLevel | undefined)[];
  readonly history: readonly Rates[];
  readonly events: readonly ClusterEvent[];
  readonly stores: KnownStores;
  /** Whether silence is evidence about a node: Redis is available, and this node was not blocked itself. */
  readonly mayJudge: boolean;
}

/** As the answering node sees them. */
export interface KnownStores {
  readonly tableUp: boolean;
  readonly queueUp: boolean;
  readonly tableRoundTripMs: number | null;
  readonly queueRoundTripMs: number | null;
  readonly memoryBytes: number | null;
  readonly memoryMaxBytes: number | null;
}

export function buildPicture(known: Known): Picture {
  const { atMs, cluster, shards, history, events } = known;
  const owned = new Map<string, number>();
  for (const { owner, state } of shards) {
    if (owner !== null && state === 'owned') owned.set(owner, (owned.get(owner) ?? 0) + 1);
  }
  return {
    atMs: Math.round(atMs),
    cluster,
    nodes: known.members.map((member) => nodePicture(member, owned.get(member.id) ?? 0, known)),
    shards,
    levels: columns(known.levels, cluster.shards),
    history,
    sweeps: sweepsPicture(known),
    stores: storesPicture(known),
    events,
  };
}

/** Returns the rates of all nodes in the last second. */
export function buildRates(atMs: number, heard: ReadonlyMap<string, Heard>): Rates {
  const reports = presentReports(heard);
  const sum = (name: keyof Speeds): number =>
    Math.round(reports.reduce((total, { speeds }) => total + speeds[name], 0) * 10) / 10;
  const lags = reports.map((report) => report.lags);
  return {
    atMs: Math.round(atMs),
    delivered: sum('delivered'),
    retried: sum('retried'),
    failed: sum('failed'),
    superseded: sum('superseded'),
    fired: sum('fired'),
    skipped: sum('skipped'),
    accepted: sum('accepted'),
    lagP50Ms: lagPercentile(lags, 0.5),
    lagP99Ms: lagPercentile(lags, 0.99),
  };
}

function presentReports(heard: ReadonlyMap<string, Heard>): ReportedStats[] {
  return [...heard.values()].flatMap(({ report, reportAgeMs }) =>
    report === null || reportAgeMs > REPORT_MS ? [] : [report],
  );
}

function nodePicture(member: RosterMember, shards: number, known: Known): NodePicture {
  const { heardAgeMs: reportedAgeMs = null, report = null } = known.heard.get(member.id) ?? {};
  const heartbeatAgeMs = member.heardMs + known.rosterAgeMs;
  const ageMs = Math.min(heartbeatAgeMs, reportedAgeMs ?? Infinity);
  return {
    id: member.id,
    name: member.name,
    state: stateOf(member, shards, { ageMs, isReporting: reportedAgeMs !== null }, known),
    uptimeMs: Math.round(member.uptimeMs + known.rosterAgeMs),
    heardAtMs: Math.round(known.atMs - ageMs),
    shards,
    load: report?.load ?? null,
  };
}

function stateOf(
  member: RosterMember,
  shards: number,
  { ageMs, isReporting: hasReports }: { ageMs: number; isReporting: boolean },
  { cluster, mayJudge }: Known,
): NodeState {
  const limitMs = hasReports ? SILENT_MS : 2 * cluster.heartbeatMs + LATE_MS;
  if (mayJudge && member.id !== cluster.servedBy && ageMs > limitMs) return 'suspect';
  if (member.draining) return 'draining';
  if (!member.able) return 'unable';
  return shards === 0 && member.uptimeMs < JOINING_MS ? 'joining' : 'active';
}

function columns(levels: readonly (ShardLevel | undefined)[], shards: number): ShardLevels {
  const column = (name: 'due' | 'queued' | 'inFlight' | 'lagMs'): number[] =>
    Array.from({ length: shards }, (_, shard) => levels[shard]?.[name] ?? 0);
  return { due: column('due'), queued: column('queued'), inFlight: column('inFlight'), lagMs: column('lagMs') };
}

function sweepsPicture({ heard, levels }: Known): SweepsPicture {
  const reports = presentReports(heard);
  const least = (name: 'completedAtMs' | 'announcedAtMs'): number => {
    const known = levels.flatMap((level) => (level === undefined ? [] : [level[name]]));
    return known.length === 0 ? 0 : Math.min(...known);
  };
  return {
    promote: together(reports.map(({ sweeps }) => sweeps.promote)),
    rescue: together(reports.map(({ sweeps }) => sweeps.rescue)),
    backlog: reports.reduce((sum, { sweepBacklog }) => sum + sweepBacklog, 0),
    completedHorizonAtMs: least('completedAtMs'),
    announcedHorizonAtMs: least('announcedAtMs'),
  };
}

function together(sweeps: readonly SweepPicture[]): SweepPicture {
  return sweeps.reduce((all, one) => {
    const isLast = (one.lastAtMs ?? 0) > (all.lastAtMs ?? 0);
    const movedLast = (one.lastMovedAtMs ?? 0) > (all.lastMovedAtMs ?? 0);
    return {
      lastAtMs: isLast ? one.lastAtMs : all.lastAtMs,
      lastQueued: isLast ? one.lastQueued : all.lastQueued,
      lastMovedAtMs: movedLast ? one.lastMovedAtMs : all.lastMovedAtMs,
      lastMoved: movedLast ? one.lastMoved : all.lastMoved,
      runs: all.runs + one.runs,
      failures: all.failures + one.failures,
      queued: all.queued + one.queued,
    };
  }, NEVER_SWEPT);
}

function storesPicture({ heard, members, stores }: Known): StoresPicture {
  const reports = presentReports(heard);
  const sum = (name: 'tableBacklog' | 'offersWaiting' | 'offersLeftToSweeps'): number =>
    reports.reduce((total, report) => total + report[name], 0);
  const awayFor = (up: 'tableUp' | 'queueUp'): string[] =>
    members.flatMap(({ id, name }) => (heard.get(id)?.report?.[up] === false ? [name] : []));
  return {
    table: {
      isUp: stores.tableUp,
      awayFor: awayFor('tableUp'),
      roundTripMs: stores.tableRoundTripMs,
      backlog: sum('tableBacklog'),
    },
    queue: {
      isUp: stores.queueUp,
      awayFor: awayFor('queueUp'),
      roundTripMs: stores.queueRoundTripMs,
      offersWaiting: sum('offersWaiting'),
      offersLeftToSweeps: sum('offersLeftToSweeps'),
      memoryBytes: stores.memoryBytes,
      memoryMaxBytes: stores.memoryMaxBytes,
    },
  };
}
