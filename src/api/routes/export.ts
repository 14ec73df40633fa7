// Exports schedules and pending messages in the form of the batches: pages for `carillon export`, and for migrations.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { ALL_SCHEDULES, pageSchedules } from '../../postgres/schedules/schedule-pages.js';
import { pagePending, type PendingPlace } from '../../postgres/messages/pending-pages.js';
import { readCursor, writeCursor } from '../cursor.js';
import { ExportItem, messageItem, scheduleItem } from '../export-items.js';
import { readParameters, type Parameters } from '../filters.js';
import { responses } from '../openapi.js';
import { readList } from '../reading.js';
import { exportParameters } from '../read-schemas.js';
import type { ApiServices } from '../services.js';

const DEFAULT_COUNT = 500;
const COUNT_MAX = 1_000;

const Page = Type.Object({
  items: Type.Array(ExportItem),
  redacted: Type.Integer({ description: 'How many were left out, since what they redact is shown to nobody' }),
  cursor: Type.Optional(Type.String()),
});

export function registerExport(app: FastifyInstance, services: ApiServices): void {
  const { clock } = services;
  const schema = {
    querystring: exportParameters,
    response: responses({ 200: Page }, 400, 401, 403, 429, 503),
  };
  app.get(
    '/v2/export/schedules',
    {
      config: { access: 'tenant' },
      schema: {
        ...schema,
        tags: ['schedules'],
        summary: 'The schedules, as POST /v2/schedules/batch takes them',
        description:
          'In the order of their ids, but for those that have ended. The last page is the one without a cursor.',
      },
    },
    async (request) => {
      const parameters = readParameters(request, ['count', 'cursor']);
      const cursor = parameters.one('cursor');
      const [afterId] = cursor === null ? [''] : readCursor('schedules', cursor);
      const query = {
        filter: { ...ALL_SCHEDULES, states: ['active', 'paused'] as const },
        afterId,
        limit: countOf(parameters),
      };
      const { schedules, nextAfterId } = await readList(services, request, { narrowBy: '' }, (reads) =>
        pageSchedules(reads, clock, request.tenantId, query),
      );
      const items = schedules.flatMap((schedule) => scheduleItem(schedule) ?? []);
      return {
        items,
        redacted: schedules.length - items.length,
        ...(nextAfterId !== null && { cursor: writeCursor('schedules', [nextAfterId]) }),
      };
    },
  );
  app.get(
    '/v2/export/messages',
    {
      config: { access: 'tenant' },
      schema: {
        ...schema,
        tags: ['messages'],
        summary: 'The pending messages, as POST /v2/batch takes them',
        description:
          'Those that clients sent, in no order that means anything; what schedules produced and callbacks are not among them. The last page is the one ' +
          'without a cursor.',
      },
    },
    async (request) => {
      const parameters = readParameters(request, ['count', 'cursor']);
      const query = { after: pendingPlace(parameters), limit: countOf(parameters) };
      const { messages, next } = await readList(services, request, { narrowBy: '' }, (reads) =>
        pagePending(reads, request.tenantId, query),
      );
      const items = messages.flatMap((message) => messageItem(message) ?? []);
      return {
        items,
        redacted: messages.length - items.length,
        ...(next !== null && { cursor: writeCursor('pending', [next.shard, next.id]) }),
      };
    },
  );
}

function countOf(parameters: Parameters): number {
  return parameters.count(DEFAULT_COUNT, COUNT_MAX, true);
}

function pendingPlace(parameters: Parameters): PendingPlace | null {
  const cursor = parameters.one('cursor');
  if (cursor === null) return null;
  const [shard, id] = readCursor('pending', cursor);
  return { shard: Number(shard), id };
}
