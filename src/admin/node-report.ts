// The messages that nodes publish while the console is open. Nodes of different versions may run in one cluster, so
// they are parsed with care.

import type { ClusterEvent, NodeLoad, SweepPicture } from './protocol.js';

/** Announces that a node has viewers. */
export interface Watch {
  /** The node's id. */
  readonly by: string;
  /** It has no data yet: all nodes must report everything at once. */
  readonly fresh: boolean;
}

/** The report of a node, four times a second; most of it is sent once a second. */
export interface NodeReport {
  readonly node: string;
  readonly figures?: ReportedStats;
  /** Of the shards that it owns. */
  readonly levels?: readonly ShardLevel[];
  /** New events, or all stored ones when a watcher is fresh. */
  readonly events?: readonly ClusterEvent[];
}

export interface ShardLevel {
  readonly shard: number;
  readonly epoch: number;
  readonly due: number;
  readonly queued: number;
  readonly inFlight: number;
  readonly lagMs: number;
  readonly announcedAtMs: number;
  readonly completedAtMs: number;
}

/** Rates per second. */
export interface Speeds {
  readonly delivered: number;
  readonly retried: number;
  readonly failed: number;
  readonly superseded: number;
  readonly fired: number;
  readonly skipped: number;
  readonly accepted: number;
}

export interface ReportedStats {
  readonly load: NodeLoad;
  readonly speeds: Speeds;
  /** Lags of first attempts of the last second: bucket, count, bucket, count, … (lag-buckets.ts). */
  readonly lags: readonly number[];
  readonly sweeps: { readonly promote: SweepPicture; readonly rescue: SweepPicture };
  readonly sweepBacklog: number;
  readonly tableUp: boolean;
  readonly queueUp: boolean;
  readonly tableBacklog: number;
  readonly offersWaiting: number;
  readonly offersLeftToSweeps: number;
}

export function readWatch(text: string): Watch | null {
  const value = readObject(text);
  if (value === null || typeof value.by !== 'string') return null;
  return { by: value.by, fresh: value.fresh === true };
}

/** Parses a report; returns null for any other text. */
export function readNodeReport(text: string): NodeReport | null {
  const value = readObject(text);
  return value === null || typeof value.node !== 'string' ? null : (value as unknown as NodeReport);
}

function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
