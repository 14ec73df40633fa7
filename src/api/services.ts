// What the API needs from the rest of a node; compose makes it, tests make their own.

import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { RandomBytes, Clock, ProcessTime } from '../domain/clock.js';
import type { Intake } from '../intake/intake.js';
import type { Database } from '../postgres/database.js';
import type { ReadPool } from '../postgres/reads.js';

export interface Readiness {
  readonly ok: boolean;
  /** One sentence for people; when not ok. */
  readonly why?: string;
  /** How many of the cluster's shards have an owner that serves them, where that is known. */
  readonly shards?: { readonly served: number; readonly total: number };
}

/** Which part of the API a request was for: a tenant's work, the administration, or the node itself. */
export type ApiArea = 'tenant' | 'admin' | 'node';

/** Counts what the API does, and gives all of the node's figures. */
export interface ApiMetrics {
  answered(area: ApiArea, status: number, durationMs: number): void;
  readonly contentType: string;
  text(): Promise<string>;
}

export interface ClusterMember {
  /** Of this process alone; its name and a random end. */
  readonly id: string;
  readonly name: string;
  readonly uptimeMs: number;
  /** Since its last heartbeat. */
  readonly heardMs: number;
  readonly draining: boolean;
}

/** The cluster as this node saw it at its last heartbeat. */
export interface ClusterView {
  members(): readonly ClusterMember[];
  /** Id of each shard's owner, by shard; null where nobody is known. */
  owners(): readonly (string | null)[];
  /** Asks a member to give its shards away and take no more. */
  drain(id: string): Promise<void>;
}

/** A file of the console's page. */
export interface ServedFile {
  readonly body: Buffer;
  /** The same, compressed; null where that gains nothing. */
  readonly gzipped: Buffer | null;
  readonly mediaType: string;
  readonly etag: string;
  /** Its name has a hash of its content, so it is never another. */
  readonly isImmutable: boolean;
}

/** The console's page, by the names of its files ('' for the page itself); null for what there is not. */
export interface ConsoleFiles {
  find(name: string): Promise<ServedFile | null>;
}

export interface ApiServices {
  readonly config: Config;
  readonly clock: Clock;
  readonly time: ProcessTime;
  readonly random: RandomBytes;
  /** For what is written, and for knowing who calls. */
  readonly database: Database;
  /** For what is read. */
  readonly reads: ReadPool;
  readonly intake: Intake;
  readonly logger: Logger;
  readonly cluster: ClusterView;
  /** Whether this node should be given requests: red before it drains, and while a store is unavailable. */
  readonly health: {
    ready(): Readiness;
    /** Whether this node is about to stop: connections are to be made anew, elsewhere. */
    leaving(): boolean;
  };
  readonly metrics: ApiMetrics;
  /** Without it there is no console. */
  readonly page?: ConsoleFiles;
}
