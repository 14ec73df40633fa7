// GET /healthz: the process is alive. GET /readyz: it accepts requests; for load balancers.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { ApiServices, Readiness } from '../services.js';

export function registerHealth(app: FastifyInstance, { health }: ApiServices): void {
  app.get(
    '/healthz',
    {
      config: { access: 'open' },
      schema: {
        tags: ['node'],
        summary: 'Is the process alive?',
        response: { 200: Type.Object({ status: Type.Literal('alive') }) },
      },
    },
    () => ({ status: 'alive' }),
  );
  app.get(
    '/readyz',
    {
      config: { access: 'open' },
      schema: {
        tags: ['node'],
        summary: 'Does this node accept requests?',
        response: {
          200: Type.Object({
            status: Type.String({ description: '"ready"; "ready, 254/256 shards" while some shards have no owner' }),
          }),
          503: Type.Object(
            { error: Type.String() },
            { description: 'It is starting or stopping, or a store is unavailable' },
          ),
        },
      },
    },
    (_request, reply) => {
      const readiness = health.ready();
      if (readiness.ok) return { status: readyText(readiness) };
      return reply.code(503).send({ error: readiness.why ?? 'not ready' });
    },
  );
}

/**
 * Returns the text of a ready node. A node accepts requests also while shards have no owner: messages are stored, and
 * delivered once they have one.
 */
function readyText({ shards }: Readiness): string {
  if (shards === undefined || shards.served >= shards.total) return 'ready';
  return `ready, ${shards.served}/${shards.total} shards`;
}
