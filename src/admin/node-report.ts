// What nodes say to each other while somebody watches. All nodes of a cluster may not be of one version, so it is read with care.

import type { ClusterEvent, NodeLoad, SweepPicture } from './protocol.js';

/** Says that a node has watchers. */
export interface Watch {
  /** The node's id. */
  readonly by: string;
  /** It knows nothing yet: everybody is to say everything at once. */
  readonly fresh: boolean;
}

/** What a node says of itself four times a second; the rest of it comes once a second. */
export interface NodeReport {
  readonly node: string;
  readonly figures?: ReportedStats;
  /** Of the shards that it owns. */
  readonly levels?: readonly ShardLevel[];
  /** New ones, or, when a watcher is fresh, all that it remembers. */
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

/** Things counted, a second. */
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

/** Null for what no node of this version says. */
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
