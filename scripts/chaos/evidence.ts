/**
 * What a chaos run leaves behind for its checker: plain data of witnesses that no node can talk to. Times are epoch ms of the machine's
 * clock, which is Redis's as well.
 */
import type { Life } from '../../test/kit/node-process.js';

/** One call as the receiver saw it. */
export interface Call {
  /** `msg_…` */
  readonly messageId: string;
  readonly retried: number;
  readonly scheduleId: string | null;
  readonly occurrenceAtMs: number | null;
  readonly path: string;
  readonly arrivedAtMs: number;
  /** When the answer was handed to the operating system; null when the caller was gone before. */
  readonly answeredAtMs: number | null;
  readonly status: number | null;
  /** The process whose connection it came by; null where that could not be found out. */
  readonly pid: number | null;
}

/** A row of `messages` at the end. */
export interface MessageRecord {
  /** `msg_…` */
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
  readonly attempts: number;
  readonly maxRetries: number;
  readonly scheduleId: string | null;
  readonly occurrenceAtMs: number | null;
  /** A skipped row that stands for several occurrences: up to this one. */
  readonly coversUntilMs: number | null;
  readonly dueAtMs: number;
  readonly createdAtMs: number;
  readonly destination: string;
}

/** A row of `attempts`: a failed attempt and when the next one may be made. */
export interface FailedAttempt {
  readonly messageId: string;
  readonly attempt: number;
  /** Whether the destination answered; otherwise the call may never have arrived. */
  readonly answered: boolean;
  readonly nextAttemptAtMs: number | null;
}

/** Noted by a trigger whenever a message changed its state, in the transaction that changed it. */
export interface StateNote {
  readonly messageId: string;
  readonly state: string;
  readonly atMs: number;
}

/** Noted by a trigger whenever a shard's epoch or node changed. `node` is the identity of a process. */
export interface Grant {
  readonly shard: number;
  readonly epoch: number;
  readonly node: string | null;
  readonly atMs: number;
}

export const FAULT_KINDS = [
  'rolling',
  'rolling-kill',
  'drain',
  'kill',
  'freeze',
  'cut-redis',
  'hole-redis',
  'slow-redis',
  'cut-postgres',
  'hole-postgres',
  'cut-locks',
  'cut-all',
  'cut-changes',
  'freeze-transaction',
  'hole-transaction',
  'hog-reads',
  'restart-redis',
  'flush-redis',
  'restart-postgres',
  'lock-server-down',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** One fault of the plan as it was carried out. */
export interface FaultNote {
  readonly kind: FaultKind;
  /** Names of the nodes that it struck; empty for a store. */
  readonly nodes: readonly string[];
  readonly startedAtMs: number;
  /** When everything was put back. */
  endedAtMs: number;
  /** When the cluster was whole again with nothing overdue; null when it was not within the time given. */
  recoveredAtMs: number | null;
  readonly detail: string;
  /** Since when, after the end, every shard had an owner by the cluster's own view; null when that was not seen. */
  ownedAtMs?: number | null;
}

/** One disturbance of one node: what excuses a second delivery of what that node had in flight. */
export interface Disturbance {
  readonly node: string;
  readonly kind: 'kill' | 'freeze' | 'cut';
  readonly fromMs: number;
  /** The same as `fromMs` for a kill. */
  toMs: number;
}

/** A publish as the client saw it. */
export interface Publish {
  /** Its number; the destination carries it, so that a row is recognized whether or not the answer came. */
  readonly number: number;
  readonly askedAtMs: number;
  /** The latest answer; null when none came. */
  answeredAtMs: number | null;
  /** Null unless the API accepted it. */
  messageId: string | null;
  /** Asked again under one deduplication id until accepted. */
  readonly deduplicated: boolean;
  /** What is to become of it: `failed` where the destination never answers well. */
  readonly end: 'delivered' | 'failed';
  /** When it is due at the earliest by the client's request. */
  readonly delayMs: number;
}

/** A cancel that was asked for. */
export interface Cancel {
  readonly messageId: string;
  readonly askedAtMs: number;
  /** Null where the answer never came, or said that it was too late. */
  readonly acknowledgedAtMs: number | null;
}

/** A change of a schedule, from the first try to the acknowledgement; changes of one schedule never overlap. */
export interface ScheduleChange {
  readonly what: 'create' | 'edit' | 'save-again' | 'pause' | 'resume' | 'delete';
  /** The marker that the destination carries from this change on. */
  readonly version: number;
  readonly askedAtMs: number;
  /** Null: never acknowledged, so both the old and the new may hold from then on. */
  readonly acknowledgedAtMs: number | null;
}

export interface ScheduleHistory {
  readonly id: string;
  readonly periodMs: number;
  /** True for cron expressions, whose times are multiples of the period; an `@every` counts from its creation. */
  readonly onTheClock: boolean;
  readonly changes: readonly ScheduleChange[];
}

/** What was seen from outside while the run went on. */
export interface Sample {
  readonly atMs: number;
  /** Active schedules without a next fire time, or whose next fire time passed long ago. */
  readonly idleSchedules: readonly string[];
  /** Work in Redis although it is due beyond the horizon. */
  readonly queuedBeyondHorizon: readonly string[];
  /** Shards without an owner by the cluster's own view; null where it cannot be asked. */
  readonly orphanShards: number | null;
}

/** A line of a node's JSON log. */
export interface NodeEvent {
  readonly node: string;
  /** The process's identity; null for lines of a process that never said it. */
  readonly identity: string | null;
  readonly level: number;
  readonly msg: string;
  readonly atMs: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A claim as Redis carried it out, by its own log of commands: the epoch that the claim token carries. */
export interface Claim {
  readonly shard: number;
  readonly epoch: number;
  readonly atMs: number;
}

export interface Evidence {
  readonly startedAtMs: number;
  /** When the cluster was whole for the first time: lag before that says nothing. */
  readonly wholeAtMs: number;
  readonly endedAtMs: number;
  readonly shards: number;
  readonly leaseMs: number;
  readonly misfireGraceMs: number;
  readonly calls: readonly Call[];
  readonly messages: readonly MessageRecord[];
  readonly failedAttempts: readonly FailedAttempt[];
  readonly stateNotes: readonly StateNote[];
  readonly grants: readonly Grant[];
  readonly claims: readonly Claim[];
  readonly lives: readonly Life[];
  readonly disturbances: readonly Disturbance[];
  readonly faults: readonly FaultNote[];
  readonly publishes: readonly Publish[];
  readonly cancels: readonly Cancel[];
  readonly schedules: readonly ScheduleHistory[];
  readonly samples: readonly Sample[];
  readonly events: readonly NodeEvent[];
}
