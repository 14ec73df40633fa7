// Computes the shard of a piece of work: fixed by its id, so that every node computes the same shard.

import type { MessageId } from './ids.js';

/** Returns the shard of a client's message, from the random end of its id. */
export function shardOfMessage(id: MessageId, shards: number): number {
  return Number.parseInt(id.slice(24), 16) % shards;
}

/**
 * Returns the shard of a schedule and of every message that it creates: one shard, so that firing is one atomic step.
 */
export function shardOfSchedule(tenantId: number, scheduleId: string, shards: number): number {
  return fnv1a(`${tenantId}:${scheduleId}`) % shards;
}

/** Returns FNV-1a with a final mix (32 bits), over UTF-16 code units; ids are ASCII. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash ^= text.charCodeAt(index);
    hash = Math.imul(hash, 0x01000193);
  }
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  return hash >>> 0;
}
