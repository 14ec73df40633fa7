// Dead letters: listed, read, deleted, and sent again, one by one or many.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { CarillonError } from '../../domain/errors.js';
import { messageOfDeadLetter } from '../../domain/dead-letter.js';
import { toWireMessageId, type MessageId } from '../../domain/ids.js';
import { dropDeadLetters, getDeadLetters, pageDeadLetters } from '../../postgres/messages/dead-letters.js';
import type {
  DeadLetter,
  DeadLetterPage,
  DeadLetterQuery,
  DeadLetterRef,
} from '../../postgres/messages/dead-letters.js';
import type { BoundedReads } from '../../postgres/reads.js';
import { withWholeBody } from '../callback-source.js';
import { readCursor, writeCursor } from '../cursor.js';
import { repeatOf, repeatWith } from '../dead-letter-retry.js';
import { requestDepth } from '../depth.js';
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
import { deadLetterObject } from '../message-schemas.js';
import { deadLetterView } from '../message-view.js';
import { responses } from '../openapi.js';
import { readList, readOne, type ReadingRequest } from '../reading.js';
import { dlqBulkParameters, dlqListParameters, idParameter } from '../read-schemas.js';
import { headerLimits, settingsOfHttp } from '../request-settings.js';
import type { ApiServices } from '../services.js';

const PAGE_COUNT_MAX = 100;
const BULK_COUNT_MAX = 500;
const DEFAULT_COUNT = 100;
/** A page ends before its bodies exceed this; its cursor continues from there. */
const PAGE_BODY_BYTES = 8 * 1_024 * 1_024;

const DLQ_PARAMETERS = [
  ...['dlqIds', 'messageId', 'responseStatus', 'count', 'cursor'],
  ...MESSAGE_FILTERS,
  ...DATE_FILTERS,
  ...LATER_FILTER_NAMES,
];

const NARROW_BY = 'fromDate and toDate, dlqIds, scheduleId or label';

const common = { tags: ['dlq'] };
const idParams = idParameter('dlqId', 'As in the list.');
const cursor = Type.Optional(Type.String({ description: 'Absent on the last page.' }));
const retried = Type.Object({ messageId: Type.String({ description: 'Of the new message.' }) });
const BULK_TEXT =
  'dlqIds and filters stand in the query or in a JSON object as the body. Without any, all are meant, count at a time: repeat with the cursor until there is none.';

interface ById {
  Params: { dlqId: string };
}

export function registerDlq(app: FastifyInstance, services: ApiServices): void {
  registerReads(app, services);
  registerDeletes(app, services);
  registerRetries(app, services);
}

function registerReads(app: FastifyInstance, services: ApiServices): void {
  app.get(
    '/v2/dlq',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Dead letters, the latest first',
        querystring: dlqListParameters,
        response: responses(
          { 200: Type.Object({ messages: Type.Array(deadLetterObject), cursor }) },
          400,
          401,
          403,
          429,
          501,
          503,
        ),
      },
    },
    async (request) => {
      const parameters = readParameters(request, DLQ_PARAMETERS);
      const read = readPage(services, request.tenantId, parameters, PAGE_COUNT_MAX);
      const { page, deadLetters } = await readList(services, request, { narrowBy: NARROW_BY }, async (reads) => {
        const found = await read(reads);
        return { page: found, deadLetters: await getDeadLetters(reads, request.tenantId, found.ids) };
      });
      return { messages: deadLetters.map(deadLetterView), ...page.cursor };
    },
  );
  app.get<ById>(
    '/v2/dlq/:dlqId',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'A dead letter',
        params: idParams,
        response: responses({ 200: deadLetterObject }, 401, 403, 404, 503),
      },
    },
    async (request) => {
      const letter = await oneLetter(services, request);
      return deadLetterView(await withWholeBody(services, request, letter));
    },
  );
}

function registerDeletes(app: FastifyInstance, services: ApiServices): void {
  const deleted = Type.Object({ deleted: Type.Integer(), cursor });
  app.delete<ById>(
    '/v2/dlq/:dlqId',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Take a dead letter off the list',
        description: 'What happened stays in the record: GET /v2/runs/{messageId}.',
        params: idParams,
        response: responses({ 200: Type.Object({ deleted: Type.Integer() }) }, 401, 403, 404, 503),
      },
    },
    async (request) => {
      const id = messageOfDeadLetter(request.params.dlqId);
      const dropped = id === null ? [] : await dropDeadLetters(services.database, request.tenantId, [id]);
      if (dropped.length === 0) throw noLetter(request.params.dlqId);
      return { deleted: dropped.length };
    },
  );
  app.delete(
    '/v2/dlq',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Take many dead letters off the list',
        description: BULK_TEXT,
        querystring: dlqBulkParameters,
        response: responses({ 200: deleted }, 400, 401, 403, 429, 501, 503),
      },
    },
    async (request) => {
      const parameters = readParameters(request, DLQ_PARAMETERS, true);
      const read = readPage(services, request.tenantId, parameters, BULK_COUNT_MAX);
      const page = await readList(services, request, { narrowBy: NARROW_BY }, read);
      const dropped = await dropDeadLetters(services.database, request.tenantId, page.ids);
      return { deleted: dropped.length, ...page.cursor };
    },
  );
}

function registerRetries(app: FastifyInstance, services: ApiServices): void {
  app.post(
    '/v2/dlq/retry',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Send many dead letters again',
        description: BULK_TEXT,
        querystring: dlqBulkParameters,
        response: responses(
          { 201: Type.Object({ responses: Type.Array(retried), cursor }) },
          400,
          401,
          403,
          429,
          501,
          503,
        ),
      },
    },
    async (request, reply) => {
      const parameters = readParameters(request, DLQ_PARAMETERS, true);
      const depth = requestDepth(request, services.config);
      const read = readPage(services, request.tenantId, parameters, BULK_COUNT_MAX);
      const page = await readList(services, request, { narrowBy: NARROW_BY }, read);
      const answers: { messageId: string }[] = [];
      for (const refs of byBodyBytes(page.refs)) answers.push(...(await retryMany(services, request, refs, depth)));
      return reply.code(201).send({ responses: answers, ...page.cursor });
    },
  );
  app.post<ById>(
    '/v2/dlq/retry/:dlqId',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Send a dead letter again',
        description:
          'Upstash-… headers replace what is stored: retries, timeout, delay, method, forwarded headers, callbacks, labels. Upstash-Redact-Fields adds to it.',
        params: idParams,
        response: responses({ 201: retried }, 400, 401, 403, 404, 503),
      },
    },
    async (request, reply) => {
      const { rawHeaders } = request.raw;
      const { authorizationIsOurs } = request;
      const settings = settingsOfHttp({ rawHeaders, query: [], authorizationIsOurs }, headerLimits(services.config));
      const letter = await oneLetter(services, request);
      const message = repeatWith(letter, request.tenantId, settings, services);
      const [pair] = await services.intake.retryDeadLetters(request.tenantId, [{ from: letter.id, message }]);
      if (pair === undefined) throw noLetter(request.params.dlqId);
      return reply.code(201).send({ messageId: toWireMessageId(pair.to) });
    },
  );
}

async function oneLetter(services: ApiServices, request: FastifyRequest<ById>): Promise<DeadLetter> {
  const id = messageOfDeadLetter(request.params.dlqId);
  const [letter] =
    id === null ? [] : await readOne(services, request, (reads) => getDeadLetters(reads, request.tenantId, [id]));
  if (letter === undefined) throw noLetter(request.params.dlqId);
  return letter;
}

function noLetter(text: string): CarillonError {
  return new CarillonError(
    'NOT_FOUND',
    `there is no dead letter ${JSON.stringify(text.slice(0, 80))}: it is unknown, or was deleted or retried`,
  );
}

async function retryMany(
  services: ApiServices,
  request: ReadingRequest,
  refs: readonly DeadLetterRef[],
  depth: number,
): Promise<{ messageId: string }[]> {
  const { tenantId } = request;
  const ids = refs.map((ref) => ref.id);
  const deadLetters = await readOne(services, request, (reads) => getDeadLetters(reads, tenantId, ids));
  const retries = deadLetters.map((letter) => ({
    from: letter.id,
    message: repeatOf(letter, tenantId, services, depth),
  }));
  const pairs = retries.length === 0 ? [] : await services.intake.retryDeadLetters(tenantId, retries);
  return pairs.map((pair) => ({ messageId: toWireMessageId(pair.to) }));
}

interface Page {
  readonly refs: readonly DeadLetterRef[];
  readonly ids: readonly MessageId[];
  /** Absent on the last page. */
  readonly cursor: { readonly cursor?: string };
}

/** Checks the parameters; returns the function that reads one page. */
function readPage(
  { clock }: ApiServices,
  tenantId: number,
  parameters: Parameters,
  countMax: number,
): (reads: BoundedReads) => Promise<Page> {
  const isList = countMax === PAGE_COUNT_MAX;
  const query = {
    filter: readFilter(parameters),
    ...readDates(parameters),
    after: readAfter(parameters),
    limit: parameters.count(DEFAULT_COUNT, countMax, isList),
  };
  return async (reads) => pageOf(await pageDeadLetters(reads, clock, tenantId, query), isList);
}

function pageOf({ refs: found, next }: DeadLetterPage, isList: boolean): Page {
  const refs = isList ? (byBodyBytes(found)[0] ?? []) : found;
  const last = refs.length < found.length ? (refs.at(-1) ?? null) : next;
  return {
    refs,
    ids: refs.map((ref) => ref.id),
    cursor: last === null ? {} : { cursor: writeCursor('dlq', [last.diedAtMs, last.id]) },
  };
}

function readFilter(parameters: Parameters): DeadLetterQuery['filter'] {
  const filter = readMessageFilter(parameters);
  const byDlqId = parameters.list('dlqIds')?.flatMap((text) => messageOfDeadLetter(text) ?? []) ?? null;
  const byMessageId = readMessageIds(parameters.list('messageId'));
  const statuses = parameters.list('responseStatus')?.map(readStatus) ?? null;
  const ids = byDlqId !== null && byMessageId !== null ? byDlqId.filter((id) => byMessageId.includes(id)) : null;
  const messageIds = ids ?? byDlqId ?? byMessageId;
  return {
    ...filter,
    ...(messageIds === null ? {} : { messageIds }),
    ...(statuses === null ? {} : { lastStatuses: statuses }),
  };
}

function readStatus(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw invalid(`responseStatus is ${JSON.stringify(text.slice(0, 40))}, expected an HTTP status, or 0 for no answer`);
}

function readAfter(parameters: Parameters): DeadLetterQuery['after'] {
  const text = parameters.one('cursor');
  if (text === null) return null;
  const [diedAtMs, id] = readCursor('dlq', text);
  return { diedAtMs: Number(diedAtMs), id };
}

/** Splits dead letters so that the bodies of each part fit into memory; no part is empty. */
function byBodyBytes(refs: readonly DeadLetterRef[]): DeadLetterRef[][] {
  const parts: DeadLetterRef[][] = [];
  let bytes = Infinity;
  for (const ref of refs) {
    bytes += ref.bodyBytes;
    if (bytes > PAGE_BODY_BYTES) {
      parts.push([]);
      bytes = ref.bodyBytes;
    }
    parts.at(-1)?.push(ref);
  }
  return parts;
}
