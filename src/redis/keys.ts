// The names of a shard's keys. They share one hash tag, so that each script uses one slot of a Redis Cluster.

export interface ShardKeys {
  /** Sorted set: entry id → due ms. */
  readonly due: string;
  /** Sorted set: entry id → ms at which its claim expires. */
  readonly inflight: string;
  /**
   * Hash: entry id → its payload while due (for a schedule, its generation), its claim token while in flight. `moved:`
   * and a schedule's entry id → generation and new due ms, when the schedule was changed while in flight.
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

/** Returns the entry id of a schedule in `due`; the entry id of a message is its own id. */
export function scheduleEntry(tenantId: number, scheduleId: string): string {
  return `s:${tenantId}:${scheduleId}`;
}

export interface ScheduleKeyOfEntry {
  readonly tenantId: number;
  readonly id: string;
}

/** Parses the result of `scheduleEntry`; returns null for a message's id. */
export function parseScheduleEntry(entry: string): ScheduleKeyOfEntry | null {
  if (!entry.startsWith('s:')) return null;
  const match = SCHEDULE_ENTRY.exec(entry);
  return match === null ? null : { tenantId: Number(match[1]), id: match[2] ?? '' };
}
