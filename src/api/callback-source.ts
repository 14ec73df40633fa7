// Callbacks of large messages are stored without what they repeat of these; readers are shown the whole.

import { completeCallbackBody } from '../delivery/callback.js';
import type { Queryable } from '../table/database.js';
import { getMessage, type MessageRecord } from '../table/message-reads.js';

/** The record with the body that is sent. As stored when what it reports on is no longer there. */
export async function withWholeBody<Stored extends MessageRecord>(
  table: Queryable,
  tenantId: number,
  record: Stored,
): Promise<Stored> {
  const { sourceOf } = record.options;
  if (sourceOf === undefined || record.body === null) return record;
  const source = await getMessage(table, tenantId, sourceOf);
  if (source?.body == null) return record;
  return { ...record, body: completeCallbackBody(record.body, { headers: source.headers, body: source.body }) };
}
