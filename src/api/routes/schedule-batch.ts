// POST /v2/schedules/batch: thousands of schedules in one call; each item is independent, so an invalid one does not
// affect the others.

import { Type, type Static } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { invariant } from '../../domain/errors.js';
import type { ScheduleToSave } from '../../intake/intake.js';
import { ITEM, ItemError, judged, readItemBody, readItems, type Refused } from '../batch-items.js';
import { requestDepth } from '../depth.js';
import { checkDestination } from '../destination.js';
import { checkValue } from '../json-body.js';
import { responses } from '../openapi.js';
import { callerIp } from '../request-source.js';
import { headerLimits, settingsOfObject } from '../request-settings.js';
import { readDefinition, readScheduleId } from '../schedule-headers.js';
import type { ApiServices } from '../services.js';

const Item = Type.Object({
  ...ITEM,
  paused: Type.Optional(
    Type.Boolean({
      description: 'true: saved as paused. Otherwise a schedule that is paused stays so, and a new one runs',
    }),
  ),
});

const Saved = Type.Object({
  scheduleId: Type.String(),
  result: Type.Union([Type.Literal('created'), Type.Literal('edited'), Type.Literal('unchanged')], {
    description: 'unchanged: it was there and says the same',
  }),
});

type Answer = Static<typeof Saved> | Refused;

export function registerScheduleBatch(app: FastifyInstance, services: ApiServices): void {
  const { config, intake } = services;
  app.post(
    '/v2/schedules/batch',
    {
      bodyLimit: config.CARILLON_BATCH_MAX_BYTES,
      config: { access: 'tenant', batch: 'CARILLON_SCHEDULE_BATCH_MAX_ITEMS' },
      schema: {
        tags: ['schedules'],
        summary: 'Create or replace many schedules',
        description:
          'At most CARILLON_SCHEDULE_BATCH_MAX_ITEMS items and CARILLON_BATCH_MAX_BYTES bytes. Items are those of POST /v2/batch, with the headers of ' +
          'a schedule. Answers come in the order of the items, after all are committed; one that was refused has error and status, and the others ' +
          'are saved nevertheless. With an Upstash-Schedule-Id on each item the call may be repeated: what is there and says the same is left alone.',
        body: Type.Array(Item),
        response: responses({ 200: Type.Array(Type.Union([Saved, ItemError])) }, 400, 401, 403, 408, 413, 429, 503),
      },
    },
    async (request): Promise<Answer[]> => {
      const from = { ip: callerIp(request), depth: requestDepth(request, config) };
      const prepared = await readItems(services.time, request.body, (item) =>
        judged(() => readItem(item, from, services)),
      );
      const schedules = prepared.flatMap((item) => ('id' in item ? [item] : []));
      const results = schedules.length === 0 ? [] : await intake.saveSchedules(request.tenantId, schedules);
      const next = results.values();
      return prepared.map((item) => {
        if (!('id' in item)) return item;
        const result = next.next();
        invariant(result.done !== true, 'each schedule has its result');
        const { value } = result;
        if (value.kind !== 'refused') return { scheduleId: item.id, result: value.kind };
        return judged(() => {
          throw value.error;
        });
      });
    },
  );
}

function readItem(value: unknown, from: { ip: string | null; depth: number }, services: ApiServices): ScheduleToSave {
  const { config, random } = services;
  const item = checkValue(value, Item, 'the item');
  const settings = settingsOfObject(item.headers, headerLimits(config), from.depth);
  const destination = checkDestination(item.destination, config);
  const definition = readDefinition({ destination, settings, body: readItemBody(item), callerIp: from.ip }, config);
  return { id: readScheduleId(settings, definition, random), definition, paused: item.paused === true };
}
