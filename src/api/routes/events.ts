// The events of messages: GET /v2/events, and GET /v2/logs under its other name.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CarillonError } from '../../domain/errors.js';
import { pageEvents, type EventQuery } from '../../postgres/events/event-pages.js';
import { EVENT_STATES, eventDetails, type EventPlace, type EventState } from '../../postgres/events/events.js';
import { readCursor, readTimeCursor, writeCursor } from '../cursor.js';
import {
  DATE_FILTERS,
  invalid,
  LATER_FILTER_NAMES,
  MESSAGE_FILTERS,
  readDates,
  readMessageFilter,
  readMessageIds,
  readParameters,
  type Parameters,
} from '../filters.js';
import { eventView } from '../message-view.js';
import { responses } from '../openapi.js';
import { readList } from '../reading.js';
import { eventObject, eventParameters } from '../read-schemas.js';
import type { ApiServices } from '../services.js';

const DEFAULT_COUNT = 100;
const COUNT_MAX = 1_000;
const MESSAGE_IDS_MAX = 100;
/**
 * A message's body is part of its events up to this size; a thousand events with large bodies would not fit into
 * memory.
 */
const EVENT_BODY_MAX_BYTES = 16 * 1_024;

const EVENT_PARAMETERS = [
  ...['messageIds', 'messageId', 'state', 'order', 'count', 'cursor'],
  ...MESSAGE_FILTERS,
  ...DATE_FILTERS,
  ...LATER_FILTER_NAMES,
];

const NARROW_BY = 'fromDate and toDate, messageIds, scheduleId or label';

const IN_PROGRESS: readonly EventState[] = ['ACTIVE', 'RETRY', 'ERROR'];

export function registerEvents(app: FastifyInstance, services: ApiServices): void {
  for (const [path, name] of [
    ['/v2/events', 'events'],
    ['/v2/logs', 'logs'],
  ] as const) {
    const answer = Type.Object({ [name]: Type.Array(eventObject), cursor: Type.Optional(Type.String()) });
    app.get(
      path,
      {
        config: { access: 'tenant' },
        schema: {
          tags: ['events'],
          summary: 'What happened to messages',
          description:
            'A page may have fewer events than count, or none, and still have a cursor: the last page is the one without. ' +
            `Bodies are base64; those above ${EVENT_BODY_MAX_BYTES} bytes are left out. Skipped occurrences have no events; GET /v2/runs has them.`,
          querystring: eventParameters,
          response: responses({ 200: answer }, 400, 401, 403, 429, 501, 503),
        },
      },
      async (request) => {
        const page = await readPage(services, request);
        return { [name]: page.events, ...page.cursor };
      },
    );
  }
}

async function readPage(
  services: ApiServices,
  request: FastifyRequest,
): Promise<{ events: Record<string, unknown>[]; cursor: { cursor?: string } }> {
  const query = readQuery(readParameters(request, EVENT_PARAMETERS));
  const { events, next } = await readList(services, request, { narrowBy: NARROW_BY }, async (reads) => {
    const page = await pageEvents(reads, services.clock, request.tenantId, query);
    return { events: await eventDetails(reads, page.refs, EVENT_BODY_MAX_BYTES), next: page.next };
  });
  // A position without a message (where a page ended between events) has a dash.
  const parts = next === null ? [] : [next.atMs, next.messageId === '' ? '-' : next.messageId, next.sequence];
  return {
    events: events.map(eventView),
    cursor: next === null ? {} : { cursor: writeCursor(cursorKind(query.order), parts) },
  };
}

function readQuery(parameters: Parameters): EventQuery {
  const order = readOrder(parameters);
  const messageIds = readMessageIds(parameters.list('messageIds', 'messageId'));
  if (messageIds !== null && messageIds.length > MESSAGE_IDS_MAX) {
    throw new CarillonError(
      'LIMIT_EXCEEDED',
      `messageIds has ${messageIds.length} values, at most ${MESSAGE_IDS_MAX} are allowed`,
    );
  }
  const filter = readMessageFilter(parameters);
  return {
    filter: messageIds === null ? filter : { ...filter, messageIds },
    states: readStates(parameters),
    order,
    ...readDates(parameters),
    after: readAfter(parameters, order),
    limit: parameters.count(DEFAULT_COUNT, COUNT_MAX, true),
  };
}

function readOrder(parameters: Parameters): EventQuery['order'] {
  const order = parameters.one('order') ?? 'latestFirst';
  if (order === 'latestFirst' || order === 'earliestFirst') return order;
  throw invalid(`order is ${JSON.stringify(order.slice(0, 40))}, expected latestFirst or earliestFirst`);
}

function readStates(parameters: Parameters): ReadonlySet<EventState> {
  const states = parameters.list('state');
  if (states === null) return new Set(EVENT_STATES);
  return new Set(states.flatMap(statesOf));
}

function statesOf(text: string): readonly EventState[] {
  const name = text.toUpperCase();
  if (name === 'IN_PROGRESS') return IN_PROGRESS;
  if (name === 'CANCELLED') return ['CANCELED'];
  // A cancel takes effect at once here, so no message is ever in this state.
  if (name === 'CANCEL_REQUESTED') return [];
  const state = EVENT_STATES.find((known) => known === name);
  if (state !== undefined) return [state];
  const expected = [...EVENT_STATES, 'CANCEL_REQUESTED', 'IN_PROGRESS'].join(', ');
  throw invalid(`state is ${JSON.stringify(text.slice(0, 40))}, expected one of ${expected}`);
}

function cursorKind(order: EventQuery['order']): 'events' | 'events-earliest' {
  return order === 'latestFirst' ? 'events' : 'events-earliest';
}

function readAfter(parameters: Parameters, order: EventQuery['order']): EventPlace | null {
  const text = parameters.one('cursor');
  if (text === null) return null;
  const timeMs = readTimeCursor(text);
  if (timeMs !== null) return { atMs: timeMs, messageId: '', sequence: 0 };
  const [atMs, messageId, sequence] = readCursor(cursorKind(order), text);
  return { atMs: Number(atMs), messageId: messageId === '-' ? '' : messageId, sequence: Number(sequence) };
}
