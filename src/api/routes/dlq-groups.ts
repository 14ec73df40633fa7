// GET /admin/dlq/groups: a tenant's dead letters by destination and error, so that failures with one cause can be seen
// and retried together.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { groupDeadLetters } from '../../postgres/messages/dead-letter-groups.js';
import { tenantNamed } from '../../postgres/tenants/tenants.js';
import { invalid, readParameters } from '../filters.js';
import { responses } from '../openapi.js';
import { readList } from '../reading.js';
import type { ApiServices } from '../services.js';

/** Dead letters that are counted, the latest ones: more take too long to read. */
const COUNTED_MAX = 20_000;
const GROUPS_MAX = 500;
const GROUPS_DEFAULT = 100;

const Groups = Type.Object({
  groups: Type.Array(
    Type.Object({
      url: Type.String(),
      responseStatus: Type.Integer({ description: '0 when there was no answer' }),
      error: Type.String(),
      count: Type.Integer(),
      firstAt: Type.String({ description: 'When the first of those counted failed, ISO 8601 UTC' }),
      latestAt: Type.String(),
    }),
  ),
  counted: Type.Integer({ description: `How many dead letters were counted: the latest, at most ${COUNTED_MAX}` }),
  complete: Type.Boolean({ description: 'Whether those were all' }),
});

export function registerDlqGroups(app: FastifyInstance, services: ApiServices): void {
  const { database, clock } = services;
  app.get(
    '/admin/dlq/groups',
    {
      config: { access: 'admin' },
      schema: {
        tags: ['dlq'],
        summary: "A tenant's dead letters by destination and error",
        description:
          'The most numerous groups first. url and responseStatus are filters of GET, DELETE and POST /v2/dlq….',
        querystring: Type.Object({
          tenant: Type.String({ description: "The tenant's name" }),
          count: Type.Optional(Type.Integer({ minimum: 1, maximum: GROUPS_MAX, default: GROUPS_DEFAULT })),
        }),
        response: responses({ 200: Groups }, 400, 401, 403, 404, 429, 503),
      },
    },
    async (request) => {
      const parameters = readParameters(request, ['tenant', 'count']);
      const name = parameters.one('tenant');
      if (name === null) throw invalid('tenant is missing: the name of the tenant whose dead letters they are');
      const groupsMax = parameters.count(GROUPS_DEFAULT, GROUPS_MAX, true);
      const tenant = await tenantNamed(database, name);
      const limits = { nowMs: clock.nowMs(), countedMax: COUNTED_MAX, groupsMax };
      const found = await readList(services, request, { tenantId: tenant.id, narrowBy: '' }, (reads) =>
        groupDeadLetters(reads, tenant.id, limits),
      );
      return {
        groups: found.groups.map(({ destination, status, error, count, firstAtMs, latestAtMs }) => ({
          url: destination,
          responseStatus: status,
          error,
          count,
          firstAt: new Date(firstAtMs).toISOString(),
          latestAt: new Date(latestAtMs).toISOString(),
        })),
        counted: found.counted,
        complete: found.counted < COUNTED_MAX,
      };
    },
  );
}
