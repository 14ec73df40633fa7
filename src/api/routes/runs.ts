// The record: GET /v2/runs shows what ran and with which result, GET /v2/runs/counts counts the runs by state.

import type { FastifyInstance } from 'fastify';
import { CarillonError } from '../../domain/errors.js';
import { fromWireMessageId, type MessageId } from '../../domain/ids.js';
import type { Queryable } from '../../postgres/database.js';
import { getMessage } from '../../postgres/messages/message-reads.js';
import type { MessageFilter } from '../../postgres/messages/message-filter.js';
import {
  attemptsOf,
  countRuns,
  getRuns,
  messagesOfKeys,
  messagesOfOccurrence,
  pageRuns,
} from '../../postgres/runs/runs.js';
import type { DueBetween } from '../../postgres/runs/runs.js';
import { readCursor, writeCursor } from '../cursor.js';
import { defined, invalid, readDates, readHosts, readParameters, readRunStates, type Parameters } from '../filters.js';
import { responses } from '../openapi.js';
import { readList, readOne } from '../reading.js';
import { idParameter, runCountParameters, runListParameters } from '../read-schemas.js';
import { runCounts, runDetail, type RunDetailShown, runPage } from '../run-schemas.js';
import { runDetailView, runView } from '../run-view.js';
import type { ApiServices } from '../services.js';

const DEFAULT_COUNT = 100;
const COUNT_MAX = 1_000;
/** Bytes of an answer in a list; the single run shows all that was stored. */
const LIST_ANSWER_BYTES = 4_096;
const KEPT_ANSWER_BYTES = 2 ** 30;
const ATTEMPTS_MAX = 1_000;
/** Counting reads each row; more rows take too long. */
const COUNTED_ROWS_MAX = 500_000;

const NARROW_BY = 'from and to, schedule or label';

const RUN_FILTERS = ['schedule', 'key', 'label', 'state', 'url', 'host', 'from', 'to', 'occurrence'];

const common = { tags: ['runs'] };
interface ById {
  Params: { messageId: string };
}

export function registerRuns(app: FastifyInstance, services: ApiServices): void {
  app.get(
    '/v2/runs',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'The record: what ran, when, and what came of it',
        description:
          'One row for each occurrence, key or message, the latest due first. Without `to` it begins with what is still to come. ' +
          'A page may have fewer runs than count, or none, and still have a cursor: the last page is the one without.',
        querystring: runListParameters,
        response: responses({ 200: runPage }, ...([400, 401, 403, 429, 503] as const)),
      },
    },
    async (request) => {
      const parameters = readParameters(request, [...RUN_FILTERS, 'count', 'cursor']);
      const requested = readRequested(parameters);
      const beforeId = readBeforeId(parameters);
      const limit = parameters.count(DEFAULT_COUNT, COUNT_MAX, true);
      const page = await readList(services, request, { narrowBy: NARROW_BY }, async (reads) => {
        const { filter, due } = await resolveFilter(reads, request.tenantId, requested);
        const query = { filter, due, beforeId, limit, answerBytes: LIST_ANSWER_BYTES };
        return await pageRuns(reads, services.clock, request.tenantId, query);
      });
      const cursor = page.nextBeforeId === null ? {} : { cursor: writeCursor('runs', [page.nextBeforeId]) };
      return { runs: page.runs.map(runView), ...cursor };
    },
  );
  app.get(
    '/v2/runs/counts',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'How many runs are in each state',
        description: `Takes the filters of GET /v2/runs. No more than ${COUNTED_ROWS_MAX} runs are counted: narrow the time, or name a schedule or a label.`,
        querystring: runCountParameters,
        response: responses({ 200: runCounts }, 400, 401, 403, 429, 503),
      },
    },
    async (request) => {
      const parameters = readParameters(request, RUN_FILTERS);
      const requested = readRequested(parameters);
      const counts = await readList(services, request, { narrowBy: NARROW_BY }, async (reads) => {
        const { filter, due } = await resolveFilter(reads, request.tenantId, requested);
        return await countRuns(reads, request.tenantId, filter, due, COUNTED_ROWS_MAX);
      });
      if (counts !== null) return counts;
      throw new CarillonError(
        'LIMIT_EXCEEDED',
        `more than ${COUNTED_ROWS_MAX} runs match, which takes too long to count; narrow it with from and to, a schedule or a label`,
      );
    },
  );
  app.get<ById>(
    '/v2/runs/:messageId',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'One run with what was sent and each attempt that failed',
        params: idParameter('messageId', 'Message id: msg_ and 32 hexadecimal digits.'),
        response: responses({ 200: runDetail }, 401, 403, 404, 503),
      },
    },
    async (request) => {
      const id = fromWireMessageId(request.params.messageId);
      const found =
        id === null ? null : await readOne(services, request, (reads) => readDetail(reads, request.tenantId, id));
      if (found !== null) return found;
      const shown = JSON.stringify(request.params.messageId.slice(0, 80));
      throw new CarillonError('NOT_FOUND', `there is no run ${shown}: it is unknown, or older than the record is kept`);
    },
  );
}

async function readDetail(database: Queryable, tenantId: number, id: MessageId): Promise<RunDetailShown | null> {
  const [[run], message, attempts] = await Promise.all([
    getRuns(database, tenantId, [id], KEPT_ANSWER_BYTES),
    getMessage(database, tenantId, id),
    attemptsOf(database, tenantId, id, ATTEMPTS_MAX),
  ]);
  return run === undefined || message === null ? null : runDetailView(run, message, attempts);
}

interface RunFilter {
  readonly filter: MessageFilter;
  readonly due: DueBetween;
}

/** The checked filter; the messages with the keys, or of the occurrence, are not looked up yet. */
interface RequestedFilter extends RunFilter {
  readonly scheduleIds: readonly string[] | null;
  readonly keys: readonly string[] | null;
  readonly occurrence: { readonly scheduleId: string; readonly atMs: number } | null;
}

function readRequested(parameters: Parameters): RequestedFilter {
  const scheduleIds = parameters.list('schedule');
  const filter = defined({
    scheduleIds,
    labels: parameters.list('label'),
    states: readRunStates(parameters),
    urls: parameters.all('url'),
    hosts: readHosts(parameters),
  });
  const due = readDates(parameters, 'from', 'to');
  return { filter, due, scheduleIds, keys: parameters.all('key'), occurrence: readOccurrence(parameters, scheduleIds) };
}

function readOccurrence(parameters: Parameters, scheduleIds: readonly string[] | null): RequestedFilter['occurrence'] {
  const atMs = parameters.instant('occurrence', 'first');
  if (atMs === null) return null;
  const scheduleId = scheduleIds?.length === 1 ? scheduleIds[0] : undefined;
  if (scheduleId !== undefined) return { scheduleId, atMs };
  throw invalid('occurrence needs the schedule whose nominal time it is: give one schedule');
}

async function resolveFilter(database: Queryable, tenantId: number, requested: RequestedFilter): Promise<RunFilter> {
  const { filter, due, scheduleIds, keys, occurrence } = requested;
  const ofOccurrence =
    occurrence === null ? null : await messagesOfOccurrence(database, tenantId, occurrence.scheduleId, occurrence.atMs);
  if (keys === null) return { filter: withIds(filter, ofOccurrence), due };
  const ofKeys = await messagesOfKeys(database, tenantId, keys);
  // A key is deleted some time after its message ended; the record still contains it, and the filter may narrow where
  // to look.
  const isNarrow = scheduleIds !== null || due.fromMs !== null;
  if (ofKeys.length === 0 && isNarrow)
    return { filter: withIds({ ...filter, idempotencyKeys: keys }, ofOccurrence), due };
  const both = ofOccurrence === null ? ofKeys : ofKeys.filter((id) => ofOccurrence.includes(id));
  return { filter: withIds(filter, both), due };
}

function withIds(filter: MessageFilter, messageIds: readonly MessageId[] | null): MessageFilter {
  return messageIds === null ? filter : { ...filter, messageIds };
}

function readBeforeId(parameters: Parameters): MessageId | null {
  const text = parameters.one('cursor');
  if (text === null) return null;
  return readCursor('runs', text)[0];
}
