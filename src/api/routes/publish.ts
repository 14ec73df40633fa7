// POST /v2/publish/{destination}: one message, accepted once it is answered.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { invariant } from '../../domain/errors.js';
import { toWireMessageId } from '../../domain/ids.js';
import type { Acceptance } from '../../intake/intake.js';
import { valueOf } from '../delivery-headers.js';
import { readSubmission } from '../message-headers.js';
import { DESTINATION, responses } from '../openapi.js';
import { requestSource } from '../request-source.js';
import type { ApiServices } from '../services.js';
import { MESSAGE_SETTINGS } from '../setting-schemas.js';
import { createSchedule, ScheduleAnswer } from './schedules.js';

export const PublishAnswer = Type.Object(
  {
    messageId: Type.String({ description: 'msg_…; of the earlier message when deduplicated' }),
    url: Type.String({ description: 'The destination as given' }),
    deduplicated: Type.Optional(Type.Literal(true)),
  },
  { description: 'Committed: the message will be delivered at least once, or be found among the dead letters' },
);

export function registerPublish(app: FastifyInstance, services: ApiServices): void {
  app.post(
    '/v2/publish',
    {
      schema: {
        tags: ['messages'],
        summary: 'Send a message to a URL',
        description: 'The body is sent as it is. With Upstash-Cron a schedule is created instead.',
        consumes: ['*/*'],
        headers: MESSAGE_SETTINGS,
        body: Type.Any({ description: 'Bytes, at most CARILLON_BODY_MAX_BYTES' }),
        response: responses(
          { 200: Type.Union([PublishAnswer, ScheduleAnswer]), 202: PublishAnswer },
          400,
          401,
          403,
          408,
          413,
          429,
          501,
          503,
        ),
      },
      config: {
        access: 'tenant',
        documentedPath: { url: '/v2/publish/{destination}', params: Type.Object({ destination: DESTINATION }) },
      },
    },
    async (request, reply) => {
      const source = requestSource(request, services.config);
      if (valueOf(source.settings, 'Upstash-Cron') !== null) return createSchedule(source, services);
      const [acceptance] = await services.intake.accept([readSubmission(source, services)]);
      invariant(acceptance !== undefined, 'one submission has one acceptance');
      return reply.code(acceptance.deduplicated ? 202 : 200).send(publishAnswer(acceptance, source.destination));
    },
  );
}

/** Returns the answer about an accepted message. */
export function publishAnswer(
  acceptance: Acceptance,
  destination: string,
): { messageId: string; url: string; deduplicated?: true } {
  const answer = { messageId: toWireMessageId(acceptance.messageId), url: destination };
  return acceptance.deduplicated ? { ...answer, deduplicated: true } : answer;
}
