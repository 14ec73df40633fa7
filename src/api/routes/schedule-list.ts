// GET /v2/schedules: all of them in one answer, as QStash's clients expect it, or pages by cursor.

import { Readable } from 'node:stream';
import { Type, type Static } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { ScheduleState } from '../../domain/schedule.js';
import { ALL_SCHEDULES, pageSchedules, type ScheduleFilter } from '../../postgres/schedules/schedule-pages.js';
import { latestRunStates } from '../../postgres/schedules/schedule-reads.js';
import { readCursor, writeCursor } from '../cursor.js';
import { invalid, readParameters, type Parameters } from '../filters.js';
import { responses } from '../openapi.js';
import { readList, type ReadingRequest } from '../reading.js';
import { scheduleListParameters } from '../read-schemas.js';
import { ScheduleView } from '../schedule-schema.js';
import { scheduleView } from '../schedule-view.js';
import type { ApiServices } from '../services.js';

/** How many of its latest runs a schedule is shown with. */
export const SHOWN_RUNS = 3;

const DEFAULT_COUNT = 100;
const COUNT_MAX = 1_000;
/** Most schedules of the whole list that are in memory at a time. */
const STREAMED_PAGE = 500;

const NARROW_BY = 'idPrefix, label or host';

const PARAMETERS = Object.keys(scheduleListParameters.properties);
const STATES = ['active', 'paused', 'ended'] as const satisfies readonly ScheduleState[];

const Page = Type.Object({ schedules: Type.Array(ScheduleView), cursor: Type.Optional(Type.String()) });
type View = Static<typeof ScheduleView>;

export function registerScheduleList(app: FastifyInstance, services: ApiServices): void {
  app.get(
    '/v2/schedules',
    {
      config: { access: 'tenant' },
      schema: {
        tags: ['schedules'],
        summary: 'List the schedules',
        description:
          'In the order of their ids. Without any parameter all of them, as a list. With one a page: {schedules, cursor}; it may have fewer ' +
          'schedules than count, or none, and still have a cursor: the last page is the one without.',
        querystring: scheduleListParameters,
        response: responses({ 200: Type.Union([Type.Array(ScheduleView), Page]) }, 400, 401, 403, 429, 503),
      },
    },
    async (request, reply) => {
      const parameters = readParameters(request, PARAMETERS);
      if (parameters.has(...PARAMETERS)) return await readPage(services, request, parameters);
      const first = await viewPage(services, request, ALL_SCHEDULES, '', STREAMED_PAGE);
      if (first.nextAfterId === null) return first.views;
      return reply.type('application/json; charset=utf-8').send(Readable.from(listAsJson(services, request, first)));
    },
  );
}

async function readPage(
  services: ApiServices,
  request: ReadingRequest,
  parameters: Parameters,
): Promise<Static<typeof Page>> {
  const filter = readFilter(parameters);
  const cursor = parameters.one('cursor');
  const [afterId] = cursor === null ? [''] : readCursor('schedules', cursor);
  const limit = parameters.count(DEFAULT_COUNT, COUNT_MAX, true);
  const { views, nextAfterId } = await viewPage(services, request, filter, afterId, limit);
  return { schedules: views, ...(nextAfterId !== null && { cursor: writeCursor('schedules', [nextAfterId]) }) };
}

function readFilter(parameters: Parameters): ScheduleFilter {
  return {
    states: parameters.list('state')?.map(readState) ?? null,
    labels: parameters.list('label'),
    hosts: parameters.list('host')?.map((host) => host.toLowerCase()) ?? null,
    // URLs may contain commas, so these are not split.
    destinations: parameters.all('destination'),
    idPrefix: parameters.one('idPrefix'),
    search: parameters.one('search'),
  };
}

function readState(text: string): ScheduleState {
  const state = STATES.find((known) => known === text.toLowerCase());
  if (state !== undefined) return state;
  throw invalid(
    `state is ${JSON.stringify(text.slice(0, 40))}, expected one or several of ${STATES.join(', ')} for schedules`,
  );
}

interface Views {
  readonly views: View[];
  readonly nextAfterId: string | null;
}

async function viewPage(
  services: ApiServices,
  request: ReadingRequest,
  filter: ScheduleFilter,
  afterId: string,
  limit: number,
): Promise<Views> {
  const { tenantId } = request;
  return await readList(services, request, { narrowBy: NARROW_BY }, async (reads) => {
    const query = { filter, afterId, limit };
    const { schedules, nextAfterId } = await pageSchedules(reads, services.clock, tenantId, query);
    const runs = await latestRunStates(reads, tenantId, schedules, SHOWN_RUNS);
    return { views: schedules.map((schedule) => scheduleView(schedule, runs.get(schedule.id))), nextAfterId };
  });
}

async function* listAsJson(services: ApiServices, request: ReadingRequest, first: Views): AsyncGenerator<string> {
  let separator = '[';
  for (let page = first; ;) {
    for (const view of page.views) {
      yield separator + JSON.stringify(view);
      separator = ',';
    }
    if (page.nextAfterId === null) break;
    page = await viewPage(services, request, ALL_SCHEDULES, page.nextAfterId, STREAMED_PAGE);
  }
  yield separator === '[' ? '[]' : ']';
}
