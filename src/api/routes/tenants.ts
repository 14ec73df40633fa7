// /admin/tenants: whose work it is, and the tokens they come with. For administrators only.

import { Type, type Static } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { CarillonError } from '../../domain/errors.js';
import { createTenant, createToken, listTenants, listTokens, revokeToken, type Tenant } from '../../table/tenants.js';
import { isHeaderValue } from '../header-text.js';
import { parseJson, checkValue, readJson } from '../json-body.js';
import { ADMIN_SECURITY, responses } from '../openapi.js';
import type { ApiServices } from '../services.js';

const TenantView = Type.Object({ name: Type.String(), createdAt: Type.Integer({ description: 'Epoch milliseconds' }) });
const NewTenant = Type.Object({ name: Type.String({ description: '1 to 64 letters, digits, "-", "_" or "."' }) });
const NewToken = Type.Object({ label: Type.Optional(Type.String({ maxLength: 200, description: 'For people' })) });
const TokenView = Type.Object({
  id: Type.String({ description: 'First 16 hexadecimal digits of its SHA-256' }),
  label: Type.String(),
  createdAt: Type.Integer({ description: 'Epoch milliseconds' }),
});
const CreatedToken = Type.Object({
  id: Type.String(),
  label: Type.String(),
  token: Type.String({ description: 'Shown this once; only its hash is kept' }),
});
const TenantPath = Type.Object({ name: Type.String({ description: "The tenant's name" }) });
const TokenPath = Type.Object({ ...TenantPath.properties, id: Type.String({ description: "The token's id" }) });

export function registerAdmin(app: FastifyInstance, { database, chance }: ApiServices): void {
  const common = { tags: ['tenants'], security: ADMIN_SECURITY };
  const faults = [400, 401, 403, 404, 503] as const;

  app.get(
    '/admin/tenants',
    {
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
      schema: {
        ...common,
        summary: 'Create a tenant',
        description: 'With random signing keys and no token.',
        body: NewTenant,
        response: responses({ 201: TenantView }, ...faults, 409),
      },
    },
    async (request, reply) => {
      const { name } = readJson(request, NewTenant);
      return reply.code(201).send(tenantView(await createTenant(database, name, chance)));
    },
  );
  app.get<{ Params: Static<typeof TenantPath> }>(
    '/admin/tenants/:name/tokens',
    {
      schema: {
        ...common,
        summary: "List a tenant's tokens",
        params: TenantPath,
        response: responses({ 200: Type.Array(TokenView) }, ...faults),
      },
    },
    async (request) => {
      const tokens = await listTokens(database, tenantName(request.params.name));
      return tokens.map(({ id, label, createdAtMs }) => ({ id, label, createdAt: createdAtMs }));
    },
  );
  app.post<{ Params: Static<typeof TenantPath> }>(
    '/admin/tenants/:name/tokens',
    {
      schema: {
        ...common,
        summary: 'Give a tenant another token',
        params: TenantPath,
        body: NewToken,
        response: responses({ 201: CreatedToken }, ...faults),
      },
    },
    async (request, reply) => {
      const { label = '' } = checkValue(parseJson(request) ?? {}, NewToken, 'the body');
      if (!isHeaderValue(label)) {
        throw new CarillonError('INVALID_REQUEST', 'label: it has a control character or a lone surrogate');
      }
      const created = await createToken(database, tenantName(request.params.name), label, chance);
      return reply.code(201).send({ id: created.id, label, token: created.token });
    },
  );
  app.delete<{ Params: Static<typeof TokenPath> }>(
    '/admin/tenants/:name/tokens/:id',
    {
      schema: {
        ...common,
        summary: 'Take a token away',
        description: 'Nodes forget it within CARILLON_TOKEN_CACHE_MS.',
        params: TokenPath,
        response: responses({ 200: Type.Object({ id: Type.String() }) }, ...faults),
      },
    },
    async (request) => {
      const { name, id } = request.params;
      if (!/^[0-9a-f]{16}$/.test(id)) throw new CarillonError('NOT_FOUND', 'there is no token with this id');
      await revokeToken(database, tenantName(name), id);
      return { id };
    },
  );
}

function tenantView({ name, createdAtMs }: Tenant): Static<typeof TenantView> {
  return { name, createdAt: createdAtMs };
}

/** A name out of a path may hold anything, a NUL included, which PostgreSQL would refuse. */
function tenantName(text: string): string {
  if (isHeaderValue(text)) return text;
  throw new CarillonError('NOT_FOUND', 'there is no tenant of this name');
}
