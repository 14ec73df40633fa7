// Completes callbacks of large messages, which are stored without the parts that repeat those messages, for readers.

import { completeCallbackBody } from '../delivery/callback.js';
import { getMessage, type MessageRecord } from '../postgres/messages/message-reads.js';
import { readOne, type ReadingRequest } from './reading.js';
import type { ApiServices } from './services.js';

/** Returns the record with the body that is sent; as stored when the reported message no longer exists. */
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
