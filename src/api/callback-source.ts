// Callbacks of large messages are stored without what they repeat of these; readers are shown the whole.

import { completeCallbackBody } from '../delivery/callback.js';
import { getMessage, type MessageRecord } from '../postgres/messages/message-reads.js';
import { readOne, type ReadingRequest } from './reading.js';
import type { ApiServices } from './services.js';

/** The record with the body that is sent. As stored when what it reports on is no longer there. */
export async function withWholeBody<Stored extends MessageRecord>(
  services: Pick<ApiServices, 'reads'>,
  request: ReadingRequest,
  record: Stored,
): Promise<Stored> {
  const { sourceOf } = record.options;
  if (sourceOf === undefined) return record;
  const source = await readOne(services, request, (reads) => getMessage(reads, request.tenantId, sourceOf));
  if (source?.shown.body == null) return record;
  const { shown } = source;
  return { ...record, shown: record.shown.withWholeBody((body) => completeCallbackBody(body, shown)) };
}
