// GET /v2/keys and POST /v2/keys/rotate: the keys with which receivers verify signatures.

import type { FastifyInstance } from 'fastify';
import { getSigningKeys, rotateSigningKeys } from '../../postgres/tenants/tenants.js';
import { SigningKeysView } from '../access-schemas.js';
import { responses } from '../openapi.js';
import type { ApiServices } from '../services.js';

export function registerKeys(app: FastifyInstance, { database, random }: ApiServices): void {
  const schema = {
    tags: ['keys'],
    response: responses({ 200: SigningKeysView }, 401, 403, 503),
  };
  app.get(
    '/v2/keys',
    { config: { access: 'tenant' }, schema: { ...schema, summary: 'Get the signing keys' } },
    (request) => getSigningKeys(database, request.tenantId),
  );
  app.post(
    '/v2/keys/rotate',
    {
      config: { access: 'tenant' },
      schema: {
        ...schema,
        summary: 'Rotate the signing keys',
        description: 'The next key becomes current, and a new one becomes next. Nodes use them within seconds.',
      },
    },
    (request) => rotateSigningKeys(database, request.tenantId, random),
  );
}
