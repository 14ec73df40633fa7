// POST /v2/batch: many messages at once; each item stands for itself, so a faulty one does not hold up the others.

import { setImmediate } from 'node:timers/promises';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { CarillonError, invariant } from '../../domain/errors.js';
import type { Submission } from '../../intake/intake.js';
import { valueOf } from '../delivery-headers.js';
import { checkDestination } from '../destination.js';
import { foreseenFault } from '../faults.js';
import { isWellFormed } from '../header-text.js';
import { checkValue, parseJson } from '../json-body.js';
import { readSubmission } from '../message-headers.js';
import { responses, TENANT_SECURITY } from '../openapi.js';
import { callerIp } from '../request-source.js';
import { settingsOfObject } from '../request-settings.js';
import type { ApiServices } from '../services.js';
import { PublishAnswer, publishAnswer } from './publish.js';

const Item = Type.Object({
  destination: Type.String({ description: 'Absolute http or https URL' }),
  headers: Type.Optional(
    Type.Unknown({ description: 'Object of header names and strings: the settings of a publish, and Content-Type' }),
  ),
  body: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'Sent as UTF-8' })),
  queue: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'Not implemented yet' })),
});
const ItemFault = Type.Object({ error: Type.String(), status: Type.Integer() });

/** Some milliseconds of work. */
const ITEMS_IN_A_TURN = 20;

/** What has become of an item before anything is accepted. */
type Prepared = { readonly submission: Submission } | { readonly error: string; readonly status: number };

export function registerBatch(app: FastifyInstance, services: ApiServices): void {
  const { config, intake } = services;
  app.post(
    '/v2/batch',
    {
      bodyLimit: config.CARILLON_BATCH_MAX_BYTES,
      schema: {
        tags: ['messages'],
        summary: 'Send many messages',
        description:
          'At most CARILLON_BATCH_MAX_ITEMS items and CARILLON_BATCH_MAX_BYTES bytes. Answers come in the order of the items; one that was refused has error and status, and the others are accepted nevertheless.',
        security: TENANT_SECURITY,
        body: Type.Array(Item),
        response: responses({ 200: Type.Array(Type.Union([PublishAnswer, ItemFault])) }, 400, 401, 403, 413, 503),
      },
    },
    async (request) => {
      const ip = callerIp(request);
      const items = readItems(request.body, config.CARILLON_BATCH_MAX_ITEMS);
      const source = { tenantId: request.tenantId, ip, destinations: new Set<string>() };
      const prepared = await inTurns(items, (item) => prepare(item, source, services));
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

/** Lets other work of this node run between every few items, deliveries that are due among them. */
async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    if (results.length % ITEMS_IN_A_TURN === ITEMS_IN_A_TURN - 1) await setImmediate();
    results.push(work(item));
  }
  return results;
}

function readItems(body: unknown, maxItems: number): unknown[] {
  const items = parseJson(body);
  if (!Array.isArray(items)) {
    throw new CarillonError(
      'INVALID_REQUEST',
      'the body is no JSON array, expected [{"destination": …, "headers": {…}, "body": …}, …]',
    );
  }
  if (items.length <= maxItems) return items as unknown[];
  throw new CarillonError(
    'LIMIT_EXCEEDED',
    `the batch has ${items.length} items, at most ${maxItems} are allowed (CARILLON_BATCH_MAX_ITEMS)`,
  );
}

/** Whose batch it is, and the destinations in it that were found to be good: most items of a batch share a few. */
interface BatchSource {
  readonly tenantId: number;
  readonly ip: string | null;
  readonly destinations: Set<string>;
}

function prepare(given: unknown, source: BatchSource, services: ApiServices): Prepared {
  try {
    return { submission: readItem(given, source, services) };
  } catch (error) {
    const fault = foreseenFault(error);
    // What nobody foresaw ends the whole request, while nothing has been accepted yet.
    if (fault === null) throw error;
    return { error: fault.text, status: fault.status };
  }
}

function readItem(given: unknown, source: BatchSource, services: ApiServices): Submission {
  const { config } = services;
  const item = checkValue(given, Item, 'the item');
  if (item.queue !== undefined && item.queue !== null && item.queue !== '') {
    throw new CarillonError('NOT_IMPLEMENTED', 'queue: queues are not implemented yet; leave it out');
  }
  const body = item.body ?? '';
  if (!isWellFormed(body)) {
    throw new CarillonError('INVALID_REQUEST', 'body: it has a lone surrogate, which has no bytes to be sent as');
  }
  const { tenantId, ip, destinations } = source;
  const { destination } = item;
  if (!destinations.has(destination)) destinations.add(checkDestination(destination, config));
  const settings = settingsOfObject(item.headers, config.CARILLON_HEADERS_MAX_BYTES);
  if (valueOf(settings, 'Upstash-Cron') !== null) {
    throw new CarillonError('INVALID_REQUEST', 'Upstash-Cron: a batch takes messages only; use POST /v2/schedules');
  }
  return readSubmission({ tenantId, destination, settings, body: Buffer.from(body, 'utf8'), callerIp: ip }, services);
}
