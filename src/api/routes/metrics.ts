// GET /metrics: this node's metrics in Prometheus's text format. Scraped from each node, not through a load balancer.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { responses } from '../openapi.js';
import type { ApiServices } from '../services.js';

export function registerMetrics(app: FastifyInstance, { config, metrics }: ApiServices): void {
  app.get(
    '/metrics',
    {
      config: { access: config.CARILLON_METRICS_PUBLIC ? 'open' : 'metrics' },
      schema: {
        tags: ['node'],
        summary: "This node's metrics, for Prometheus",
        description: 'No token is needed where CARILLON_METRICS_PUBLIC is set. Each node has its own metrics.',
        produces: ['text/plain'],
        response: responses({ 200: Type.String({ description: 'Text format 0.0.4' }) }, 401, 403, 503),
      },
      // The answer is no JSON.
      serializerCompiler: () => (data) => String(data),
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  );
}
