/** The file `cluster.json`: everything that runs for a local cluster, for scripts and people that watch or kill. */
import { rmSync } from 'node:fs';
import { writePrivate } from '../system/private-file.js';

export interface NodeRecord {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly log: string;
  readonly state: 'running' | 'ended';
}

/** A store; without a pid it is not ours. */
export interface StoreRecord {
  readonly url: string;
  readonly pid: number | null;
}

export interface ClusterRecord {
  readonly nodes: readonly NodeRecord[];
  /** Null for a single node. */
  readonly loadBalancer: { readonly pid: number; readonly port: number; readonly url: string } | null;
  readonly postgres: StoreRecord;
  readonly redis: StoreRecord;
  readonly lockServers: readonly StoreRecord[];
  readonly launcher: {
    readonly pid: number;
    /** Where the launcher takes requests, and what they must bring. */
    readonly url: string;
    readonly token: string;
  };
}

/** Replaces the file in one step; only its owner can read it. */
export function writeClusterFile(file: string, record: ClusterRecord): void {
  writePrivate(file, `${JSON.stringify(record, null, 2)}\n`);
}

export function removeClusterFile(file: string): void {
  rmSync(file, { force: true });
}
