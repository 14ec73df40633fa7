// Pages of a tenant's pending messages that clients sent, for those who carry them elsewhere; shard by shard, since the index of pending
// messages is in that order and holds nothing else: what has ended, however much, is not looked at.

import { fromUuid, messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { MessageKind } from '../../domain/message.js';
import type { StoredRequest } from '../../domain/shown-request.js';
import type { Queryable } from '../database.js';
import { messageRecord, storedRequest, type MessageRecord } from './message-reads.js';
import type { BoundedReads } from '../reads.js';

/** What clients sent. The others come of schedules, and of messages that are on their way. */
const SENT_BY_CLIENTS: readonly MessageKind[] = ['message', 'dlq-retry'];
/** Other tenants' messages are looked at in passing, so many at once. */
const STEP_ROWS = 2_000;
const PAGE_BODY_BYTES = 8 * 2 ** 20;

/** Where a walk through the pending messages stands. */
export interface PendingPlace {
  readonly shard: number;
  readonly id: MessageId;
}

export interface PendingMessage extends MessageRecord {
  /** As it is delivered. */
  readonly undisclosed: StoredRequest & { readonly body: Buffer };
  readonly idempotencyKey: string | null;
}

export interface PendingPage {
  readonly messages: readonly PendingMessage[];
  /** Null on the last page. A page may have fewer messages than asked for and still not be the last. */
  readonly next: PendingPlace | null;
}

const START: PendingPlace = { shard: -1, id: messageIdFloor(0) };

/**
 * One page after a place (null for the first page), of at most `limit` messages. It ends where it is when the time is
 * over.
 */
export async function pagePending(
  reads: BoundedReads,
  tenantId: number,
  query: { readonly after: PendingPlace | null; readonly limit: number },
): Promise<PendingPage> {
  const ids: MessageId[] = [];
  const start = query.after ?? START;
  let bytes = 0;
  let place = start;
  const pageTo = async (next: PendingPlace | null): Promise<PendingPage> => ({
    messages: await messagesOf(reads, tenantId, ids),
    next,
  });
  for (;;) {
    const { shard: afterShard, id: afterId } = place;
    const params = { afterShard, afterId, limit: STEP_ROWS, tenantId, kinds: SENT_BY_CLIENTS };
    const rows = await reads.step((table) => table.run('select-pending-places', params));
    if (rows === null && place === start) throw reads.tooSlow();
    for (const { shard, id, body_bytes: bodyBytes } of rows ?? []) {
      const isFull = ids.length === query.limit || (ids.length > 0 && bytes + (bodyBytes ?? 0) > PAGE_BODY_BYTES);
      if (bodyBytes !== null && isFull) return await pageTo(place);
      place = { shard, id: fromUuid(id) };
      if (bodyBytes === null) continue;
      ids.push(place.id);
      bytes += bodyBytes;
    }
    if (rows !== null && rows.length < STEP_ROWS) return await pageTo(null);
    if (rows === null || reads.isWalkOver) return await pageTo(place);
  }
}

async function messagesOf(table: Queryable, tenantId: number, ids: readonly MessageId[]): Promise<PendingMessage[]> {
  if (ids.length === 0) return [];
  const rows = await table.run('select-pending-messages', { tenantId, ids });
  return rows.map((row) => ({
    ...messageRecord(row),
    undisclosed: { ...storedRequest(row), body: row.body },
    idempotencyKey: row.idempotency_key,
  }));
}
