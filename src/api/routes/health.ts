// GET /healthz: the process is alive. GET /readyz: it should be given requests; a load balancer asks.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { ApiServices } from '../services.js';

export function registerHealth(app: FastifyInstance, { health }: ApiServices): void {
  app.get(
    '/healthz',
    {
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
      schema: {
        tags: ['node'],
        summary: 'Should this node be given requests?',
        response: {
          200: Type.Object({ status: Type.Literal('ready') }),
          503: Type.Object({ error: Type.String() }, { description: 'It is starting or stopping, or a store is away' }),
        },
      },
    },
    (_request, reply) => {
      const { ok, why } = health.ready();
      if (ok) return { status: 'ready' };
      return reply.code(503).send({ error: why ?? 'not ready' });
    },
  );
}
