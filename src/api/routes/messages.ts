// Pending messages: reading one by its id, and canceling one or many.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CarillonError } from '../../domain/errors.js';
import { tierOf } from '../../domain/tier.js';
import { fromWireMessageId, type MessageId } from '../../domain/ids.js';
import type { MessageFilter } from '../../postgres/messages/message-filter.js';
import { UnconfirmedCancelError } from '../../intake/cancellation.js';
import { findUnconfirmedCancels } from '../../postgres/messages/cancels.js';
import { findCancelable, getMessage, type CreatedBetween } from '../../postgres/messages/message-reads.js';
import type { BoundedReads } from '../../postgres/reads.js';
import { withWholeBody } from '../callback-source.js';
import {
  DATE_FILTERS,
  LATER_FILTER_NAMES,
  MESSAGE_FILTERS,
  readDates,
  readMessageFilter,
  readMessageIds,
  readParameters,
} from '../filters.js';
import { messageView } from '../message-view.js';
import { responses } from '../openapi.js';
import { readOne, whileClientWaits } from '../reading.js';
import { pendingObject } from '../message-schemas.js';
import { cancelParameters, idParameter } from '../read-schemas.js';
import type { ApiServices } from '../services.js';

const CANCEL_COUNT_MAX = 500;
const NARROW_BY = 'messageIds, scheduleId or label';
/** A cancel by filters also completes cancels of this period that were not confirmed. */
const UNCONFIRMED_MS = 60 * 60_000;
const CANCEL_PARAMETERS = ['messageIds', 'count', ...MESSAGE_FILTERS, ...DATE_FILTERS, ...LATER_FILTER_NAMES];

const idParams = idParameter('messageId', 'Message id: msg_ and 32 hexadecimal digits.');
const cancelled = Type.Object({ cancelled: Type.Integer({ description: 'How many were canceled by this call.' }) });
const canceledInParts = Type.Object({
  ...cancelled.properties,
  more: Type.Optional(
    Type.Literal(true, {
      description:
        'There when the call ended at CARILLON_CANCEL_MAX: others may be left, for the same request to go on with.',
    }),
  ),
});

const common = { tags: ['messages'] };

interface ById {
  Params: { messageId: string };
}

export function registerMessages(app: FastifyInstance, services: ApiServices): void {
  app.get<ById>(
    '/v2/messages/:messageId',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'A pending message',
        params: idParams,
        response: responses({ 200: pendingObject }, 401, 403, 404, 503),
      },
    },
    async (request) => {
      const id = fromWireMessageId(request.params.messageId);
      const message =
        id === null ? null : await readOne(services, request, (reads) => getMessage(reads, request.tenantId, id));
      if (message?.state !== 'pending') throw noMessage(request.params.messageId);
      const { CARILLON_IMMEDIATE_MS: immediateMs, CARILLON_HORIZON_MS: horizonMs } = services.config;
      const tier = tierOf(message.dueAtMs, services.clock.nowMs(), { immediateMs, horizonMs });
      const whole = await withWholeBody(services, request, message);
      return { ...messageView(whole), tier };
    },
  );
  app.delete<ById>(
    '/v2/messages/:messageId',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Cancel a pending message',
        params: idParams,
        response: responses({ 200: cancelled }, 401, 403, 404, 503),
      },
    },
    async (request) => {
      const id = fromWireMessageId(request.params.messageId);
      const canceled = id === null ? [] : await services.intake.cancel(request.tenantId, [id]);
      if (canceled.length === 0) throw noMessage(request.params.messageId);
      return { cancelled: canceled.length };
    },
  );
  app.delete(
    '/v2/messages',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Cancel pending messages by ids or filters',
        description:
          'Ids and filters stand in the query or in a JSON object as the body. Without any, all are canceled. ' +
          'Send it again while the answer says "more".',
        querystring: cancelParameters,
        response: responses({ 200: canceledInParts }, 400, 401, 403, 429, 501, 503),
      },
    },
    (request) => whileClientWaits(request, (signal) => cancelMany(services, request, signal)),
  );
  app.get('/v2/messages', { config: { access: 'tenant' }, schema: { hide: true } }, () => {
    throw new CarillonError(
      'NOT_FOUND',
      'there is no list of messages; GET /v2/runs?state=pending lists those that wait, GET /v2/runs the whole record',
    );
  });
}

function noMessage(text: string): CarillonError {
  return new CarillonError(
    'NOT_FOUND',
    `message ${JSON.stringify(text.slice(0, 80))} is not pending: it is unknown, or it has ended (GET /v2/runs/{messageId} shows its record)`,
  );
}

interface CanceledPart {
  readonly cancelled: number;
  readonly more?: true;
}

/** Cancels the selected messages, batch by batch, up to the setting, while the client waits for the answer. */
async function cancelMany(services: ApiServices, request: FastifyRequest, signal: AbortSignal): Promise<CanceledPart> {
  const parameters = readParameters(request, CANCEL_PARAMETERS, true);
  const most = services.config.CARILLON_CANCEL_MAX;
  const isCounted = parameters.has('count');
  const count = isCounted ? parameters.count(CANCEL_COUNT_MAX, CANCEL_COUNT_MAX, false) : most;
  const ids = readMessageIds(parameters.all('messageIds'));
  const filter = readMessageFilter(parameters);
  const created = readDates(parameters);
  const { tenantId } = request;
  const byIds = ids !== null && Object.keys(filter).length === 0 && created.fromMs === null && created.toMs === null;
  const wanted = ids === null ? filter : { ...filter, messageIds: ids };
  const canceled = byIds
    ? await cancelIds(services, { tenantId, signal }, ids, count)
    : await cancelMatching(services, { tenantId, signal }, wanted, created, count);
  // A request with a count continues by the count.
  return { cancelled: canceled, ...(!isCounted && canceled >= most && { more: true }) };
}

interface Caller {
  readonly tenantId: number;
  readonly signal: AbortSignal;
}

/** Cancels a batch of a request that canceled others before. The text of an error includes their number. */
async function cancelBatch(
  { intake }: ApiServices,
  tenantId: number,
  ids: readonly MessageId[],
  before: number,
): Promise<number> {
  try {
    return (await intake.cancel(tenantId, ids)).length;
  } catch (error) {
    if (!(error instanceof UnconfirmedCancelError) || before === 0) throw error;
    throw new UnconfirmedCancelError(error.unconfirmed, error.canceled + before);
  }
}

async function cancelIds(
  services: ApiServices,
  { tenantId, signal }: Caller,
  ids: readonly MessageId[],
  count: number,
): Promise<number> {
  const batch = services.config.CARILLON_SWEEP_BATCH;
  let canceled = 0;
  for (let index = 0; index < ids.length && canceled < count && !signal.aborted;) {
    const size = Math.min(batch, count - canceled);
    canceled += await cancelBatch(services, tenantId, ids.slice(index, index + size), canceled);
    index += size;
  }
  return canceled;
}

/** Returns the error that ended the search, with the number of messages canceled before. */
function afterSome(error: unknown, canceled: number): unknown {
  if (!(error instanceof CarillonError) || canceled === 0) return error;
  return new CarillonError(error.code, `${canceled} messages were canceled, then: ${error.message}`, { cause: error });
}

/**
 * Cancels batch by batch: canceled messages are not found again. Finally completes earlier cancels that were not
 * confirmed.
 */
async function cancelMatching(
  services: ApiServices,
  { tenantId, signal }: Caller,
  filter: MessageFilter,
  created: CreatedBetween,
  count: number,
): Promise<number> {
  const { clock, config } = services;
  const afterMs = clock.nowMs() - UNCONFIRMED_MS;
  let canceled = 0;
  const list = <Found>(find: (reads: BoundedReads) => Promise<Found>): Promise<Found> =>
    services.reads.list({ tenantId, signal, narrowBy: NARROW_BY }, find).catch((error: unknown) => {
      throw afterSome(error, canceled);
    });
  for (const find of [
    (limit: number) => list((reads) => findCancelable(reads, tenantId, filter, created, limit)),
    (limit: number) => list((reads) => findUnconfirmedCancels(reads, tenantId, filter, created, { afterMs, limit })),
  ]) {
    while (canceled < count) {
      const found = await find(Math.min(config.CARILLON_SWEEP_BATCH, count - canceled));
      if (found.length === 0) break;
      const done = await cancelBatch(services, tenantId, found, canceled);
      canceled += done;
      // A message that was found but not canceled ended in between; finding it again would make this loop endless.
      if (done === 0) break;
    }
  }
  return canceled;
}
