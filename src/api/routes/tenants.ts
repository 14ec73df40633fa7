// /admin/tenants: the tenants. For administrators only.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { createTenant, listTenants, type Tenant } from '../../postgres/tenants/tenants.js';
import { TenantView, type TenantShown } from '../access-schemas.js';
import { readJson } from '../json-body.js';
import { responses } from '../openapi.js';
import type { ApiServices } from '../services.js';

const NewTenant = Type.Object({ name: Type.String({ description: '1 to 64 letters, digits, "-", "_" or "."' }) });

export function registerTenants(app: FastifyInstance, { database, random }: ApiServices): void {
  const common = { tags: ['tenants'] };

  app.get(
    '/admin/tenants',
    {
      config: { access: 'admin' },
      schema: {
        ...common,
        summary: 'List the tenants',
        response: responses({ 200: Type.Array(TenantView) }, 401, 403, 503),
      },
    },
    async () => (await listTenants(database)).map(tenantView),
  );
  app.post(
    '/admin/tenants',
    {
      config: { access: 'admin' },
      schema: {
        ...common,
        summary: 'Create a tenant',
        description: 'With random signing keys and no token.',
        body: NewTenant,
        response: responses({ 201: TenantView }, 400, 401, 403, 409, 503),
      },
    },
    async (request, reply) => {
      const { name } = readJson(request, NewTenant);
      return reply.code(201).send(tenantView(await createTenant(database, name, random)));
    },
  );
}

function tenantView({ name, createdAtMs }: Tenant): TenantShown {
  return { name, createdAt: createdAtMs };
}
