// GET /openapi.json: the document that the routes describe.

import type { FastifyInstance } from 'fastify';

export function registerOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', { config: { access: 'open' }, schema: { hide: true } }, () => app.swagger());
}
