// /v2/schedules: recurring work. Creating is an upsert; the other routes use the schedule's id.

import { Type, type Static } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { CarillonError } from '../../domain/errors.js';
import { checkScheduleId, toWireMessageId } from '../../domain/ids.js';
import type { Schedule } from '../../domain/schedule.js';
import { getSchedule, latestRunStates } from '../../postgres/schedules/schedule-reads.js';
import type { Queryable } from '../../postgres/database.js';
import { requestDepth } from '../depth.js';
import { DESTINATION, responses } from '../openapi.js';
import { readOne } from '../reading.js';
import { requestSource, type RequestSource } from '../request-source.js';
import { readDefinition, readScheduleId } from '../schedule-headers.js';
import { keepParts, readKeep } from '../schedule-keep.js';
import { ScheduleView } from '../schedule-schema.js';
import { scheduleView } from '../schedule-view.js';
import type { ApiServices } from '../services.js';
import { SCHEDULE_SETTINGS } from '../setting-schemas.js';
import { registerScheduleList, SHOWN_RUNS } from './schedule-list.js';

export const SchedulePath = Type.Object({ id: Type.String({ description: "The schedule's id" }) });
type Path = Static<typeof SchedulePath>;
export const ScheduleAnswer = Type.Object({ scheduleId: Type.String() });
const Switched = Type.Object({ scheduleId: Type.String(), isPaused: Type.Boolean() });

/** Creates or replaces the schedule that a request describes. */
export async function createSchedule(
  source: RequestSource,
  services: ApiServices,
): Promise<Static<typeof ScheduleAnswer>> {
  const read = readDefinition({ ...source, mayKeep: true }, services.config);
  const id = readScheduleId(source.settings, read, services.random);
  const parts = readKeep(source.settings);
  const definition =
    parts.length === 0 ? read : keepParts(read, parts, await requireSchedule(services.database, source.tenantId, id));
  const schedule = await services.intake.saveSchedule(source.tenantId, id, definition);
  return { scheduleId: schedule.id };
}

export function registerSchedules(app: FastifyInstance, services: ApiServices): void {
  registerCreate(app, services);
  registerScheduleList(app, services);
  registerReads(app, services);
  registerChanges(app, services);
}

/** Returns the id in a path. Throws NOT_FOUND for a text that cannot be a schedule's id. */
export function pathScheduleId(text: string): string {
  try {
    return checkScheduleId(text);
  } catch {
    throw noSchedule(text);
  }
}

/** Returns the schedule. Throws NOT_FOUND. */
export async function requireSchedule(database: Queryable, tenantId: number, text: string): Promise<Schedule> {
  const schedule = await getSchedule(database, tenantId, pathScheduleId(text));
  if (schedule === null) throw noSchedule(text);
  return schedule;
}

/** Returns the error for an id without a schedule. */
export function noSchedule(text: string): CarillonError {
  return new CarillonError('NOT_FOUND', `there is no schedule ${JSON.stringify(text.slice(0, 80))}`);
}

function registerCreate(app: FastifyInstance, services: ApiServices): void {
  app.post(
    '/v2/schedules',
    {
      schema: {
        tags: ['schedules'],
        summary: 'Create or replace a schedule',
        description:
          'What is not given again is gone. A schedule that is equal to the one that exists changes nothing.',
        consumes: ['*/*'],
        headers: SCHEDULE_SETTINGS,
        body: Type.Any({ description: 'Bytes, sent with every occurrence; at most CARILLON_BODY_MAX_BYTES' }),
        response: responses({ 200: ScheduleAnswer }, 400, 401, 403, 408, 413, 429, 501, 503),
      },
      // OpenAPI identifies a path by its form, and this one has the same form as those with an id.
      config: {
        access: 'tenant',
        documentedPath: { url: '/v2/schedules/{id}', params: Type.Object({ id: DESTINATION }) },
      },
    },
    async (request) => createSchedule(requestSource(request, services.config), services),
  );
}

function registerReads(app: FastifyInstance, services: ApiServices): void {
  const common = { tags: ['schedules'] };
  app.get<{ Params: Path }>(
    '/v2/schedules/:id',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Get a schedule',
        params: SchedulePath,
        response: responses({ 200: ScheduleView }, 401, 403, 404, 503),
      },
    },
    async (request) => {
      const { tenantId, params } = request;
      return await readOne(services, request, async (reads) => {
        const schedule = await requireSchedule(reads, tenantId, params.id);
        const runs = await latestRunStates(reads, tenantId, [schedule], SHOWN_RUNS);
        return scheduleView(schedule, runs.get(schedule.id));
      });
    },
  );
}

function registerChanges(app: FastifyInstance, services: ApiServices): void {
  const { intake } = services;
  const common = { tags: ['schedules'], params: SchedulePath };
  const problems = [401, 403, 404, 503] as const;

  app.delete<{ Params: Path }>(
    '/v2/schedules/:id',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Delete a schedule',
        description: 'Messages that it has produced stay.',
        response: responses({ 200: ScheduleAnswer }, ...problems),
      },
    },
    async (request) => {
      const id = pathScheduleId(request.params.id);
      if (!(await intake.deleteSchedule(request.tenantId, id))) throw noSchedule(id);
      return { scheduleId: id };
    },
  );
  for (const action of ['pause', 'resume'] as const) {
    // The clients send PATCH, the public documentation says POST.
    for (const method of ['PATCH', 'POST'] as const) {
      app.route<{ Params: Path }>({
        method,
        url: `/v2/schedules/:id/${action}`,
        config: { access: 'tenant' },
        schema: {
          ...common,
          summary: action === 'pause' ? 'Pause a schedule' : 'Resume a schedule',
          description:
            action === 'pause'
              ? 'Occurrences that fall into the pause do not happen. Pausing twice is pausing once.'
              : 'It goes on with the next occurrence from now; nothing is caught up.',
          response: responses({ 200: Switched }, ...problems),
        },
        handler: async (request) => {
          const id = pathScheduleId(request.params.id);
          const schedule = await (action === 'pause'
            ? intake.pauseSchedule(request.tenantId, id)
            : intake.resumeSchedule(request.tenantId, id));
          return { scheduleId: schedule.id, isPaused: schedule.state === 'paused' };
        },
      });
    }
  }
  app.post<{ Params: Path }>(
    '/v2/schedules/:id/trigger',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'Run a schedule now',
        description:
          "A run of its own kind: it takes no occurrence's place, and also works while the schedule is paused.",
        response: responses(
          { 200: Type.Object({ messageId: Type.String(), scheduleId: Type.String() }) },
          400,
          ...problems,
        ),
      },
    },
    async (request) => {
      const id = pathScheduleId(request.params.id);
      const depth = requestDepth(request, services.config);
      return { messageId: toWireMessageId(await intake.triggerSchedule(request.tenantId, id, depth)), scheduleId: id };
    },
  );
}
