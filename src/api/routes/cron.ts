// Calendars: the next times of a saved schedule, and a preview of an expression that is not saved.

import { Type, type Static } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { eachNextTime, MAX_NEXT_TIMES } from '../../domain/cron/next-fire.js';
import type { CronExpression } from '../../domain/cron/expression.js';
import { CarillonError } from '../../domain/errors.js';
import { expressionOf, givenExpression } from '../../domain/schedule-change.js';
import { parseInstant } from '../instant.js';
import { readJson } from '../json-body.js';
import { responses } from '../openapi.js';
import { readOne } from '../reading.js';
import type { ApiServices } from '../services.js';
import { inTurns } from '../turns.js';
import { requireSchedule, SchedulePath } from './schedules.js';
import type { ProcessTime } from '../../domain/clock.js';

const DEFAULT_COUNT = 10;

const Times = Type.Object({
  times: Type.Array(
    Type.Object({
      utc: Type.String({ description: 'ISO 8601, UTC' }),
      local: Type.String({ description: "ISO 8601, by the zone's clock" }),
      dst: Type.Union([Type.Literal('gap'), Type.Literal('overlap'), Type.Null()], {
        description:
          'gap: its wall time is skipped by a clock change, so it comes right after; overlap: the clock shows it twice',
      }),
    }),
  ),
  dayRule: Type.Union([Type.Literal('or'), Type.Literal('and'), Type.Null()], {
    description: 'Where both day fields are restricted: whether either of them is enough',
  }),
});

const Preview = Type.Object({
  cron: Type.String({ description: 'As in Upstash-Cron' }),
  timeZone: Type.Optional(Type.String({ description: 'IANA zone' })),
  from: Type.Optional(
    Type.Union([Type.String(), Type.Number()], {
      description: 'ISO 8601 or epoch milliseconds; default now. Times are strictly later',
    }),
  ),
  count: Type.Optional(Type.Integer({ description: 'Default 10, at most CARILLON_CALENDAR_COUNT_MAX' })),
});

const NextQuery = Type.Object({
  count: Type.Optional(Type.Integer({ description: 'Default 10, at most CARILLON_CALENDAR_COUNT_MAX' })),
  from: Type.Optional(
    Type.String({ description: 'ISO 8601 or epoch milliseconds; default now. Times are strictly later' }),
  ),
});

export function registerCron(app: FastifyInstance, services: ApiServices): void {
  const { clock, config } = services;
  const common = { tags: ['calendars'] };
  const maxCount = Math.min(config.CARILLON_CALENDAR_COUNT_MAX, MAX_NEXT_TIMES);

  app.post(
    '/v2/cron/preview',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: 'When would it fire?',
        description: 'A bad expression is answered with 400 and says which field and why.',
        body: Preview,
        response: responses({ 200: Times }, 400, 401, 403),
      },
    },
    (request) => {
      const { cron, timeZone = null, from, count = DEFAULT_COUNT } = readJson(request, Preview);
      const expression = givenExpression({ cron, timeZone });
      const fromMs = from === undefined ? clock.nowMs() : parseInstant(String(from), 'from', 'milliseconds');
      return timesOf(services.time, expression, { fromMs, count: checkCount(count, maxCount) });
    },
  );
  app.get<{ Params: Static<typeof SchedulePath>; Querystring: Record<string, unknown> }>(
    '/v2/schedules/:id/next',
    {
      config: { access: 'tenant' },
      schema: {
        ...common,
        summary: "A schedule's next times",
        description: 'Within its start and end, whether or not it is paused.',
        params: SchedulePath,
        querystring: NextQuery,
        response: responses({ 200: Times }, 400, 401, 403, 404, 503),
      },
    },
    async (request) => {
      const query = readNextQuery(request.query, maxCount);
      const { tenantId, params } = request;
      const schedule = await readOne(services, request, (reads) => requireSchedule(reads, tenantId, params.id));
      const { startAtMs, endAtMs, anchorMs } = schedule;
      const fromMs = Math.max(query.fromMs ?? clock.nowMs(), startAtMs === null ? 0 : startAtMs - 1);
      return timesOf(services.time, expressionOf(schedule), { fromMs, count: query.count, anchorMs, endAtMs });
    },
  );
}

interface Range {
  readonly fromMs: number;
  readonly count: number;
  readonly anchorMs?: number;
  readonly endAtMs?: number | null;
}

/** Yields to other work between the times: rare times of many callers would otherwise block the node. */
async function timesOf(
  time: ProcessTime,
  expression: CronExpression,
  { fromMs, count, anchorMs = fromMs, endAtMs = null }: Range,
): Promise<Static<typeof Times>> {
  const times = await inTurns(time, eachNextTime(expression, fromMs, count, anchorMs), (found) => found);
  return {
    times: times
      .filter(({ utcMs }) => endAtMs === null || utcMs <= endAtMs)
      .map(({ utcMs, local, dst }) => ({ utc: new Date(utcMs).toISOString(), local, dst })),
    dayRule: expression.dayRule,
  };
}

function checkCount(count: number, maxCount: number): number {
  if (Number.isInteger(count) && count >= 1 && count <= maxCount) return count;
  throw new CarillonError('INVALID_REQUEST', `count is ${count}, expected a whole number from 1 to ${maxCount}`);
}

function readNextQuery(
  query: Readonly<Record<string, unknown>>,
  maxCount: number,
): { count: number; fromMs: number | null } {
  const given = new Map<string, string>();
  for (const [name, value] of Object.entries(query)) {
    if (name !== 'count' && name !== 'from') {
      throw new CarillonError(
        'INVALID_REQUEST',
        `unknown query key ${JSON.stringify(name.slice(0, 40))}, expected count or from`,
      );
    }
    if (typeof value !== 'string') throw new CarillonError('INVALID_REQUEST', `${name} is given more than once`);
    given.set(name, value);
  }
  const count = given.get('count');
  const from = given.get('from');
  return {
    count: count === undefined ? DEFAULT_COUNT : checkCount(count === '' ? Number.NaN : Number(count), maxCount),
    fromMs: from === undefined ? null : parseInstant(from, 'from', 'milliseconds'),
  };
}
