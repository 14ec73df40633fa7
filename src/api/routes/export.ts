// What is scheduled and what waits, as the batches take it: pages for `carillon export`, and for whoever wants to move on.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { ALL_SCHEDULES, pageSchedules } from '../../table/schedule-pages.js';
import { pagePending, type PendingPlace } from '../../table/pending-pages.js';
import { readCursor, writeCursor } from '../cursor.js';
import { ExportItem, messageItem, scheduleItem } from '../export-items.js';
import { readParameters, type Parameters } from '../filters.js';
import { responses, TENANT_SECURITY } from '../openapi.js';
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
  const { database, clock } = services;
  const schema = {
    security: TENANT_SECURITY,
    querystring: exportParameters,
    response: responses({ 200: Page }, 400, 401, 403, 503),
  };
  app.get(
    '/v2/export/schedules',
    {
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
      const [afterId = ''] = placeOf(parameters, 'schedules', /^[A-Za-z0-9_.-]{1,256}$/);
      const query = {
        filter: { ...ALL_SCHEDULES, states: ['active', 'paused'] as const },
        afterId,
        limit: countOf(parameters),
      };
      const { schedules, nextAfterId } = await pageSchedules(database, clock, request.tenantId, query);
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
      const { messages, next } = await pagePending(database, clock, request.tenantId, query);
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

function placeOf(parameters: Parameters, kind: 'schedules' | 'pending', shape: RegExp): string[] {
  const cursor = parameters.one('cursor');
  return cursor === null ? [] : readCursor(kind, cursor, shape);
}

function pendingPlace(parameters: Parameters): PendingPlace | null {
  const [shard, id] = placeOf(parameters, 'pending', /^\d{1,4} [0-9a-f]{32}$/);
  return shard === undefined || id === undefined ? null : { shard: Number(shard), id };
}
