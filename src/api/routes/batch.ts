// POST /v2/batch: many messages at once; each item is independent, so an invalid one does not affect the others.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { CarillonError, invariant } from '../../domain/errors.js';
import type { Submission } from '../../intake/intake.js';
import { ITEM, ItemError, judged, readItemBody, readItems, type Refused } from '../batch-items.js';
import { valueOf } from '../delivery-headers.js';
import { requestDepth } from '../depth.js';
import { checkDestination } from '../destination.js';
import { checkValue } from '../json-body.js';
import { readSubmission } from '../message-headers.js';
import { responses } from '../openapi.js';
import { callerIp } from '../request-source.js';
import { headerLimits, settingsOfObject } from '../request-settings.js';
import type { ApiServices } from '../services.js';
import { PublishAnswer, publishAnswer } from './publish.js';

const Item = Type.Object(ITEM);

/** The state of an item before anything is accepted. */
type Prepared = { readonly submission: Submission } | Refused;

export function registerBatch(app: FastifyInstance, services: ApiServices): void {
  const { config, intake } = services;
  app.post(
    '/v2/batch',
    {
      bodyLimit: config.CARILLON_BATCH_MAX_BYTES,
      config: { access: 'tenant', batch: 'CARILLON_BATCH_MAX_ITEMS' },
      schema: {
        tags: ['messages'],
        summary: 'Send many messages',
        description:
          'At most CARILLON_BATCH_MAX_ITEMS items and CARILLON_BATCH_MAX_BYTES bytes. Answers come in the order of the items; one that was refused has error and status, and the others are accepted nevertheless.',
        body: Type.Array(Item),
        response: responses(
          { 200: Type.Array(Type.Union([PublishAnswer, ItemError])) },
          400,
          401,
          403,
          408,
          413,
          429,
          503,
        ),
      },
    },
    async (request) => {
      const ip = callerIp(request);
      const depth = requestDepth(request, config);
      const source = { tenantId: request.tenantId, ip, destinations: new Set<string>(), depth };
      const prepared = await readItems(services.time, request.body, (item): Prepared =>
        judged(() => ({ submission: readItem(item, source, services) })),
      );
      const submissions = prepared.flatMap((item) => ('submission' in item ? [item.submission] : []));
      const acceptances = submissions.length === 0 ? [] : await intake.accept(submissions);
      invariant(acceptances.length === submissions.length, 'each submission has its acceptance');
      const accepted = acceptances.values();
      return prepared.map((item) => {
        if (!('submission' in item)) return item;
        const acceptance = accepted.next();
        invariant(acceptance.done !== true, 'each submission has its acceptance');
        return publishAnswer(acceptance.value, item.submission.message.destination);
      });
    },
  );
}

/** The tenant of a batch, and its destinations that passed the check: most items of a batch share a few. */
interface BatchSource {
  readonly tenantId: number;
  readonly ip: string | null;
  readonly destinations: Set<string>;
  /** The depth of the request; an item cannot reduce it. */
  readonly depth: number;
}

function readItem(
  value: unknown,
  { tenantId, ip, destinations, depth }: BatchSource,
  services: ApiServices,
): Submission {
  const { config } = services;
  const item = checkValue(value, Item, 'the item');
  const body = readItemBody(item);
  const { destination } = item;
  if (!destinations.has(destination)) destinations.add(checkDestination(destination, config));
  const settings = settingsOfObject(item.headers, headerLimits(config), depth);
  if (valueOf(settings, 'Upstash-Cron') !== null) {
    throw new CarillonError(
      'INVALID_REQUEST',
      'Upstash-Cron: this batch takes messages only; use POST /v2/schedules/batch',
    );
  }
  return readSubmission({ tenantId, destination, settings, body, callerIp: ip }, services);
}
