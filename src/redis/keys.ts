// The names of a shard's keys. All share one hash tag, so that each script touches one slot of a Redis Cluster.

export interface ShardKeys {
  /** Sorted set: entry id → due ms. */
  readonly due: string;
  /** Sorted set: entry id → ms at which its claim lapses. */
  readonly inflight: string;
  /**
   * Hash: entry id → its payload while due (a schedule's generation, for a schedule), its claim token while in flight.
   * `moved:` and a schedule's entry id → generation and due ms of its place, when it was changed while in flight.
   */
  readonly task: string;
  /** Hash: epoch, the run of Redis that it was installed in, announced and completed horizon (ms), number of claims. */
  readonly state: string;
  /** Sorted set: id of a canceled message → ms until which it may not be queued. */
  readonly tomb: string;
}

export function shardKeys(prefix: string, shard: number): ShardKeys {
  const tag = `${prefix}:{${shard}}`;
  return {
    due: `${tag}:due`,
    inflight: `${tag}:inflight`,
    task: `${tag}:task`,
    state: `${tag}:state`,
    tomb: `${tag}:tomb`,
  };
}

const SCHEDULE_ENTRY = /^s:(\d+):(.+)$/;

/** The entry id of a schedule in `due`; a message's entry id is its own id. */
export function scheduleEntry(tenantId: number, scheduleId: string): string {
  return `s:${tenantId}:${scheduleId}`;
}

export interface ScheduleKeyOfEntry {
  readonly tenantId: number;
  readonly id: string;
}

/** Reads what `scheduleEntry` wrote; null for a message's id. */
export function parseScheduleEntry(entry: string): ScheduleKeyOfEntry | null {
  if (!entry.startsWith('s:')) return null;
  const match = SCHEDULE_ENTRY.exec(entry);
  return match === null ? null : { tenantId: Number(match[1]), id: match[2] ?? '' };
}
