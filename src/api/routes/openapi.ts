// GET /openapi.json: the API described by its own routes.

import type { FastifyInstance } from 'fastify';

export function registerOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', { config: { access: 'open' }, schema: { hide: true } }, () => app.swagger());
}
