// Builds the OpenAPI document from the routes' schemas.

import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { Type, type TSchema } from '@sinclair/typebox';
import type { FastifyContextConfig, FastifySchema } from 'fastify';
import type { Access } from './access.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The path in the document when the router uses another one, and the meaning of its parameters. */
    readonly documentedPath?: { readonly url: string; readonly params: object };
  }
}

export function openApi(): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Carillon',
        version: '2',
        description:
          'Sends messages to HTTP endpoints, now, later or by a calendar: signed, retried, recorded once. ' +
          'Settings of a message travel in Upstash-… and Carillon-… headers, or in lower case as query keys. ' +
          'Errors are answered with {"error": text}. What cannot be read as HTTP, on any path, is answered with 400, 408, 414, 417 or 431.',
      },
      tags: [
        { name: 'messages', description: 'One piece of work with one due time' },
        { name: 'schedules', description: 'Recurring work' },
        { name: 'runs', description: 'The record: what ran, when, and what came of it' },
        { name: 'events', description: 'What happened to messages, step by step' },
        { name: 'dlq', description: 'Messages that failed for good' },
        { name: 'calendars', description: 'What a cron expression means' },
        { name: 'keys', description: 'Signing keys of the deliveries' },
        { name: 'cluster', description: 'For administrators: nodes, and the shards that they own' },
        { name: 'tenants', description: 'For administrators: whose work it is, and their tokens' },
        { name: 'node', description: 'State of the node that answers' },
      ],
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer', description: "A tenant's token; ?qstash_token= serves as well" },
          adminToken: { type: 'http', scheme: 'bearer', description: "The administrator's token" },
        },
      },
    },
    transform: ({ schema, url, route }) => {
      const { access = 'open', documentedPath }: Partial<FastifyContextConfig> = route.config ?? {};
      const secured = { ...schema, security: SECURITY[access] };
      if (documentedPath === undefined) return { schema: withRefusals(secured), url };
      return { schema: withRefusals({ ...secured, params: documentedPath.params }), url: documentedPath.url };
    },
  };
}

/** The description of a route in the document follows from the route's declaration. */
const SECURITY = {
  tenant: [{ token: [] }],
  admin: [{ adminToken: [] }],
  metrics: [{ adminToken: [] }],
  open: [],
} satisfies Record<Access, readonly Record<string, readonly string[]>[]>;

const ErrorBody = Type.Object({ error: Type.String({ description: 'What was wrong, what was expected, where' }) });

const ERRORS = {
  400: 'The request is wrong: the text says what and where, also when a limit is exceeded',
  401: 'No token, or one that is not known, was revoked or has expired',
  403: 'A token of the wrong role',
  404: 'Nothing of that name: what the path names, or the tenant of Carillon-Tenant',
  408: 'The body arrives too slowly (CARILLON_BODY_RATE_MIN_BYTES)',
  409: 'It exists already, or is the last of its kind',
  413: 'The body is too large',
  429: 'Lists of this tenant are being read, or bodies of its requests fill its share of the node: try again after Retry-After seconds',
  501: 'Queues, URL groups and flow control are not implemented yet',
  503: 'PostgreSQL is unavailable (for a cancel Redis as well), a read took too long, or request bodies fill what the node has for them; the text says what holds by now. Try again after Retry-After seconds',
} as const;

/** Returns the `response` part of a route's schema: the success and the possible errors. */
export function responses(
  success: Readonly<Record<number, TSchema>>,
  ...problems: (keyof typeof ERRORS)[]
): Record<number, TSchema> {
  const described = problems.map((status) => [status, { ...ErrorBody, description: ERRORS[status] }] as const);
  return { ...success, ...(Object.fromEntries(described) as Record<number, TSchema>) };
}

/**
 * Adds the answers of every route that takes a token: 400 for a request that cannot be read, 404 when Carillon-Tenant
 * names no tenant.
 */
function withRefusals(schema: FastifySchema): FastifySchema {
  if (schema.security === undefined || schema.security.length === 0) return schema;
  return { ...schema, response: { ...responses({}, 400, 401, 403, 404, 503), ...(schema.response as object) } };
}

/** A path parameter that contains a destination. */
export const DESTINATION = Type.String({
  description:
    'The destination: an absolute http or https URL, as it is or percent-encoded as a whole, with its own query. ' +
    'Taken from the raw request target: nothing in it is normalized.',
});
