/** Puts the checks together: the figures of a chaos run, and whether it passed. */
import { UNHANDLED_REJECTION } from '../../../src/telemetry/logger.js';
import type { Evidence, FaultKind, FaultNote } from '../evidence.js';
import { Findings, spreadOf, type Finding, type Spread } from './findings.js';
import { measureLag } from './lag.js';
import { judgeLateness } from './lateness.js';
import { judgeMessages } from './messages.js';
import { judgeOwnership } from './ownership.js';
import { judgePresence } from './presence.js';
import { judgeRepeats } from './repeats.js';
import { judgeSchedules } from './schedules.js';
import { judgeTakeovers } from './takeovers.js';

/** One fault: how long it lasted, how long the cluster then needed to be whole again, and what it cost. */
export interface FaultFigures {
  readonly kind: FaultKind;
  readonly nodes: readonly string[];
  readonly detail: string;
  readonly atMs: number;
  readonly lastedMs: number;
  readonly recoveredMs: number | null;
  readonly lag: Spread;
  readonly shardsMoved: number;
}

export interface Verdict {
  readonly passed: boolean;
  readonly due: number;
  readonly delivered: number;
  readonly lost: number;
  readonly early: number;
  readonly doubleRecords: number;
  readonly duplicates: number;
  readonly unexplainedDuplicates: number;
  readonly explained: { readonly kill: number; readonly freeze: number; readonly cut: number };
  readonly retries: number;
  readonly occurrences: number;
  /** Occurrences that a pause or deletion gave up before they were fired. */
  readonly overtaken: number;
  readonly lag: { readonly quiet: Spread; readonly fault: Spread };
  readonly failoverMs: Spread;
  readonly handoverMs: Spread;
  readonly shardsMoved: number;
  readonly faults: readonly FaultFigures[];
  /** Everything that is wrong, whatever the figure it counts for. */
  readonly wrong: readonly Finding[];
}

/** Judges a run. Pure: the same evidence, the same verdict. */
export function judgeRun(evidence: Evidence, only: readonly FaultKind[] = []): Verdict {
  const messages = judgeMessages(evidence);
  const schedules = judgeSchedules(evidence);
  const repeats = judgeRepeats(evidence);
  const ownership = judgeOwnership(evidence);
  const lag = measureLag(evidence);
  const lost = [...messages.lost, ...schedules.missing];
  const wrong = [
    ...lost,
    ...messages.early,
    ...messages.doubleRecords,
    ...messages.canceledButDelivered,
    ...messages.contradictions,
    ...schedules.unwanted,
    ...schedules.idle,
    ...repeats.unexplained,
    ...ownership.epochFaults,
    ...ownership.ownerless,
    ...judgeTakeovers(evidence),
    ...judgeLateness(evidence),
    ...judgePresence(evidence),
    ...conduct(evidence),
    ...gracefulOnly(only, repeats.duplicates),
  ];
  return {
    passed: wrong.length === 0,
    due: messages.due,
    delivered: messages.delivered,
    lost: countOf(lost),
    early: countOf(messages.early),
    doubleRecords: countOf(messages.doubleRecords),
    duplicates: repeats.duplicates,
    unexplainedDuplicates: repeats.unexplainedDuplicates,
    explained: repeats.explained,
    retries: repeats.retries,
    occurrences: schedules.occurrences,
    overtaken: schedules.overtaken,
    lag: { quiet: lag.quiet, fault: lag.fault },
    failoverMs: ownership.failoverMs,
    handoverMs: ownership.handoverMs,
    shardsMoved: ownership.movedAtMs.length,
    faults: evidence.faults.map((fault, index) => figuresOf(fault, evidence, ownership.movedAtMs, lag.perFault[index])),
    wrong,
  };
}

function figuresOf(
  { kind, nodes, detail, startedAtMs, endedAtMs, recoveredAtMs }: FaultNote,
  evidence: Evidence,
  movedAtMs: readonly number[],
  lag: Spread = spreadOf([]),
): FaultFigures {
  const untilMs = recoveredAtMs ?? evidence.endedAtMs;
  return {
    kind,
    nodes,
    detail,
    atMs: startedAtMs - evidence.startedAtMs,
    lastedMs: endedAtMs - startedAtMs,
    recoveredMs: recoveredAtMs === null ? null : recoveredAtMs - endedAtMs,
    lag,
    shardsMoved: movedAtMs.filter((atMs) => atMs >= startedAtMs && atMs <= untilMs).length,
  };
}

function countOf(findings: readonly Finding[]): number {
  return findings.reduce((sum, { count }) => sum + count, 0);
}

const GRACEFUL: readonly FaultKind[] = ['rolling', 'drain'];

/** Restarts in order alone deliver nothing twice, whatever explains it. */
function gracefulOnly(only: readonly FaultKind[], duplicates: number): Finding[] {
  if (duplicates === 0 || only.length === 0 || only.some((kind) => !GRACEFUL.includes(kind))) return [];
  return [{ kind: 'second deliveries though nodes were only restarted in order', count: duplicates, examples: [] }];
}

/** What processes must not do: end by themselves, end with an error when asked to stop, crash, or not come back. */
function conduct(evidence: Evidence): Finding[] {
  const findings = new Findings();
  for (const { name, endedBy, endedAtMs, exitCode } of evidence.lives) {
    if (endedAtMs === null) continue;
    if (endedBy === null) findings.add('a node that ended by itself', `${name}, exit code ${exitCode}`);
    if (endedBy === 'SIGTERM' && exitCode !== 0)
      findings.add('a node that did not stop in order', `${name}, exit code ${exitCode}`);
  }
  for (const { node, level, msg } of evidence.events) {
    if (level >= 60) findings.add('a crash in the log', `${node}: ${msg.slice(0, 200)}`);
    if (msg === UNHANDLED_REJECTION) findings.add('a promise that nobody handled', node);
  }
  for (const { kind, recoveredAtMs, detail } of evidence.faults) {
    if (recoveredAtMs === null) findings.add('no recovery', `${kind}: ${detail}`);
  }
  for (const { queuedBeyondHorizon } of evidence.samples) {
    for (const id of queuedBeyondHorizon) findings.add('in Redis although it is due beyond the horizon', id);
  }
  return findings.list();
}
