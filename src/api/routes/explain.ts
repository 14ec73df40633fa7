// GET /v2/schedules/{id}/explain: why a schedule did or did not run at a moment.

import { Type, type Static } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { explain, secondOf } from '../../domain/explain.js';
import type { Explanation } from '../../domain/explain-facts.js';
import { toWireMessageId } from '../../domain/ids.js';
import { occurrenceAround, scheduleChanges, shardGrant } from '../../postgres/schedules/explain-reads.js';
import { getSchedule } from '../../postgres/schedules/schedule-reads.js';
import { invalid, readParameters } from '../filters.js';
import { responses } from '../openapi.js';
import { readList, type ReadingRequest } from '../reading.js';
import type { ApiServices } from '../services.js';
import { noSchedule, pathScheduleId, SchedulePath } from './schedules.js';

const When = Type.Union([Type.String({ description: 'ISO 8601, UTC' }), Type.Null()]);
const Answer = Type.Object({
  verdict: Type.String({
    description:
      'ran, ran-late, due, retrying, failed, canceled, skipped, waiting, will-run, paused, not-created-yet, deleted, out-of-bounds, not-a-time or unknown',
  }),
  text: Type.String({ description: 'The same in a sentence or two, with its reason' }),
  at: Type.String({ description: 'The requested moment. It means the second that contains it' }),
  nominal: When,
  message: Type.Union([Type.String(), Type.Null()], {
    description: "The occurrence's message, which GET /v2/runs/{messageId} shows",
  }),
  before: When,
  after: When,
  evidence: Type.Array(Type.Object({ at: When, text: Type.String() })),
});

export function registerExplain(app: FastifyInstance, services: ApiServices): void {
  app.get<{ Params: Static<typeof SchedulePath> }>(
    '/v2/schedules/:id/explain',
    {
      config: { access: 'tenant' },
      schema: {
        tags: ['schedules'],
        summary: 'Why did it run, or not, at a moment?',
        description: 'Also of a schedule that was deleted, as long as its changes are kept.',
        params: SchedulePath,
        querystring: Type.Object({
          at: Type.String({ description: 'ISO 8601 with its offset, or epoch milliseconds' }),
        }),
        response: responses({ 200: Answer }, 400, 401, 403, 404, 429, 503),
      },
    },
    async (request) => {
      const atMs = readParameters(request, ['at']).instant('at', 'first');
      if (atMs === null)
        throw invalid('at is missing, expected the moment to explain as ISO 8601 or epoch milliseconds');
      return view(atMs, await explainAt(services, request, pathScheduleId(request.params.id), atMs));
    },
  );
}

/** Explains a moment. Throws NOT_FOUND for a schedule that never existed, or whose log was deleted. */
async function explainAt(
  services: ApiServices,
  request: ReadingRequest,
  id: string,
  atMs: number,
): Promise<Explanation> {
  const { clock, config } = services;
  const { tenantId } = request;
  const { schedule, changes, occurrence, shard } = await readList(
    services,
    request,
    { narrowBy: '' },
    async (reads) => {
      const found = await getSchedule(reads, tenantId, id);
      return {
        schedule: found,
        changes: await scheduleChanges(reads, tenantId, id),
        occurrence: await occurrenceAround(reads, tenantId, id, secondOf(atMs)),
        shard: found === null ? null : await shardGrant(reads, found.shard),
      };
    },
  );
  if (schedule === null && changes.length === 0) throw noSchedule(id);
  return explain({
    atMs,
    nowMs: clock.nowMs(),
    schedule,
    changes,
    ...occurrence,
    shard,
    retentionMs: config.CARILLON_RETENTION_MS,
    misfireGraceMs: config.CARILLON_MISFIRE_GRACE_MS,
  });
}

function view(atMs: number, explanation: Explanation): Static<typeof Answer> {
  const { verdict, text, nominalAtMs, messageId, beforeAtMs, afterAtMs, evidence } = explanation;
  return {
    verdict,
    text,
    at: iso(atMs),
    nominal: isoOrNull(nominalAtMs),
    message: messageId === null ? null : toWireMessageId(messageId),
    before: isoOrNull(beforeAtMs),
    after: isoOrNull(afterAtMs),
    evidence: evidence.map((one) => ({ at: isoOrNull(one.atMs), text: one.text })),
  };
}

const iso = (atMs: number): string => new Date(atMs).toISOString();
const isoOrNull = (atMs: number | null): string | null => (atMs === null ? null : iso(atMs));
