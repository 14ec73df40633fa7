// The API's answers about messages and dead letters: the schemas of the OpenAPI document, and the types of the CLI and
// the console.

import { type Static, Type } from '@sinclair/typebox';
import { headers, texts } from './wire-values.js';

const messageObject = Type.Object(
  {
    messageId: Type.String(),
    url: Type.String(),
    method: Type.String(),
    header: headers,
    body: Type.Optional(Type.String()),
    bodyBase64: Type.Optional(Type.String({ description: 'In place of body when it is not UTF-8.' })),
    maxRetries: Type.Integer(),
    notBefore: Type.Integer({ description: 'Due time, Unix milliseconds.' }),
    createdAt: Type.Integer({ description: 'Unix milliseconds.' }),
    timeout: Type.Integer({ description: 'Milliseconds.' }),
    scheduleId: Type.Optional(Type.String()),
    labels: Type.Optional(texts),
  },
  { additionalProperties: true, description: 'A message; optional fields are left out, never null.' },
);

export const pendingObject = Type.Intersect([
  messageObject,
  Type.Object({
    tier: Type.Union([Type.Literal('immediate'), Type.Literal('hot'), Type.Literal('cold')], {
      description:
        'How soon it is due: within CARILLON_IMMEDIATE_MS, within CARILLON_HORIZON_MS, or later. Cold ones are in PostgreSQL only',
    }),
  }),
]);

export const deadLetterObject = Type.Intersect([
  messageObject,
  Type.Object({
    dlqId: Type.String(),
    responseStatus: Type.Integer({ description: '0 when there was no answer.' }),
    responseBody: Type.Optional(Type.String()),
    responseBodyBase64: Type.Optional(Type.String()),
    responseError: Type.Optional(Type.String({ description: 'Why the last attempt failed.' })),
  }),
]);

export type DeadLetterShown = Static<typeof deadLetterObject>;
