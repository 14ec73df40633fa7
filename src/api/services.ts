// The services of a node that the API needs; compose builds them, tests build their own.

import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { RandomBytes, Clock, ProcessTime } from '../domain/clock.js';
import type { Intake } from '../intake/intake.js';
import type { Database } from '../postgres/database.js';
import type { ReadPool } from '../postgres/reads.js';

export interface Readiness {
  readonly ok: boolean;
  /** One sentence for people, when not ok. */
  readonly why?: string;
  /** How many of the cluster's shards have an owner that serves them, if known. */
  readonly shards?: { readonly served: number; readonly total: number };
}

/** The part of the API that a request was for: a tenant's work, the administration, or the node itself. */
export type ApiArea = 'tenant' | 'admin' | 'node';

/** Counts the requests of the API, and returns all metrics of the node. */
export interface ApiMetrics {
  answered(area: ApiArea, status: number, durationMs: number): void;
  readonly contentType: string;
  text(): Promise<string>;
}

export interface ClusterMember {
  /** Identifies this process: its name and a random suffix. */
  readonly id: string;
  readonly name: string;
  readonly uptimeMs: number;
  /** Since its last heartbeat. */
  readonly heardMs: number;
  readonly draining: boolean;
}

/** The cluster as of this node's last heartbeat. */
export interface ClusterView {
  members(): readonly ClusterMember[];
  /** Id of each shard's owner, by shard; null when unknown. */
  owners(): readonly (string | null)[];
  /** Requests a member to hand over its shards and acquire no more. */
  drain(id: string): Promise<void>;
}

/** A file of the console. */
export interface ServedFile {
  readonly body: Buffer;
  /** The same, compressed; null when compression gains nothing. */
  readonly gzipped: Buffer | null;
  readonly mediaType: string;
  readonly etag: string;
  /** Its name contains a hash of its content, so it never changes. */
  readonly isImmutable: boolean;
}

/** Returns the files of the console by name ('' for the page itself); null for unknown names. */
export interface ConsoleFiles {
  find(name: string): Promise<ServedFile | null>;
}

export interface ApiServices {
  readonly config: Config;
  readonly clock: Clock;
  readonly time: ProcessTime;
  readonly random: RandomBytes;
  /** For writes, and for authentication. */
  readonly database: Database;
  /** For reads. */
  readonly reads: ReadPool;
  readonly intake: Intake;
  readonly logger: Logger;
  readonly cluster: ClusterView;
  /** Whether this node accepts requests: not ok before it drains, and while a store is unavailable. */
  readonly health: {
    ready(): Readiness;
    /** Whether this node is about to stop: clients must reconnect, to another node. */
    leaving(): boolean;
  };
  readonly metrics: ApiMetrics;
  /** Absent when the console is disabled. */
  readonly page?: ConsoleFiles;
}
