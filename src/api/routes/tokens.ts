// /admin/tenants/{name}/tokens and /admin/tokens: the tokens of a tenant, and those of administrators. For
// administrators only.

import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseDuration } from '../../domain/duration.js';
import { CarillonError } from '../../domain/errors.js';
import { tenantNamed } from '../../postgres/tenants/tenants.js';
import {
  ADMINISTRATORS,
  createToken,
  listTokens,
  type NewToken,
  revokeToken,
  type TokenHolder,
  type TokenInfo,
} from '../../postgres/tenants/tokens.js';
import { isHeaderValue } from '../header-text.js';
import { CreatedToken, TokenView, type TokenShown } from '../access-schemas.js';
import { checkValue, parseJson } from '../json-body.js';
import { responses } from '../openapi.js';
import type { ApiServices } from '../services.js';

const TokenBody = Type.Object({
  label: Type.Optional(Type.String({ maxLength: 200, description: 'For people' })),
  expiresAt: Type.Optional(Type.Integer({ description: 'Epoch milliseconds; never when left out' })),
  expiresIn: Type.Optional(Type.String({ maxLength: 64, description: 'A duration such as 90d, instead of expiresAt' })),
});
const TenantPath = Type.Object({ name: Type.String({ description: "The tenant's name" }) });
const IdPath = Type.Object({ id: Type.String({ description: "The token's id" }) });

/** Path parameters of both kinds of routes; `/admin/tokens` has no name. */
interface Path {
  readonly name?: string;
  readonly id?: string;
}

/** The latest expiry: the end of the year 9999. Later times have no ISO form with four digits. */
const EXPIRY_MAX_MS = 253_402_300_799_999;

export function registerTokens(app: FastifyInstance, services: ApiServices): void {
  const { database } = services;
  addRoutes(app, services, {
    url: '/admin/tenants/:name/tokens',
    whose: "a tenant's",
    params: TenantPath.properties,
    owner: async ({ name = '' }) => {
      // A name from a path may contain anything, including NUL, which PostgreSQL refuses.
      if (!isHeaderValue(name)) throw new CarillonError('NOT_FOUND', 'there is no tenant of this name');
      return { role: 'tenant', tenantId: (await tenantNamed(database, name)).id };
    },
  });
  addRoutes(app, services, {
    url: '/admin/tokens',
    whose: "administrators'",
    params: {},
    owner: () => Promise.resolve(ADMINISTRATORS),
  });
}

interface Tokens {
  readonly url: string;
  readonly whose: string;
  readonly params: typeof TenantPath.properties | Record<string, never>;
  readonly owner: (path: Path) => Promise<TokenHolder>;
}

function addRoutes(app: FastifyInstance, services: ApiServices, { url, whose, params, owner }: Tokens): void {
  const { database, clock, random, config } = services;
  const common = { tags: ['tenants'], params: Type.Object(params) };
  const problems = [400, 401, 403, 404, 503] as const;
  app.get<{ Params: Path }>(
    url,
    {
      config: { access: 'admin' },
      schema: {
        ...common,
        summary: `List ${whose} tokens`,
        response: responses({ 200: Type.Array(TokenView) }, ...problems),
      },
    },
    async ({ params: path }) => (await listTokens(database, await owner(path))).map(tokenView),
  );
  app.post<{ Params: Path }>(
    url,
    {
      config: { access: 'admin' },
      schema: {
        ...common,
        summary: `Create another of ${whose} tokens`,
        body: TokenBody,
        response: responses({ 201: CreatedToken }, ...problems),
      },
    },
    async (request, reply) => {
      const made = readToken(request, Math.floor(clock.nowMs()));
      const limits = { tokensMax: config.CARILLON_TOKENS_MAX, random };
      const { id, token } = await createToken(database, await owner(request.params), made, limits);
      return reply.code(201).send({ id, label: made.label, expiresAt: made.expiresAtMs, token });
    },
  );
  app.delete<{ Params: Path }>(
    `${url}/:id`,
    {
      config: { access: 'admin' },
      schema: {
        ...common,
        summary: `Revoke one of ${whose} tokens`,
        description:
          'Nodes drop it within CARILLON_TOKEN_CACHE_MS. The last valid token of an administrator is not revoked.',
        params: Type.Object({ ...params, ...IdPath.properties }),
        response: responses({ 200: Type.Object({ id: Type.String() }) }, ...problems, 409),
      },
    },
    async (request) => {
      const { id = '' } = request.params;
      const of = await owner(request.params);
      if (!/^[0-9a-f]{16}$/.test(id)) throw new CarillonError('NOT_FOUND', 'there is no token with this id');
      await revokeToken(database, of, id, clock.nowMs());
      return { id };
    },
  );
}

/** Returns the token that a request describes. Throws INVALID_REQUEST. */
function readToken(request: FastifyRequest, nowMs: number): NewToken {
  const { label = '', expiresAt, expiresIn } = checkValue(parseJson(request) ?? {}, TokenBody, 'the body');
  if (!isHeaderValue(label)) {
    throw new CarillonError('INVALID_REQUEST', 'label: it has a control character or a lone surrogate');
  }
  if (expiresAt !== undefined && expiresIn !== undefined) {
    throw new CarillonError('INVALID_REQUEST', 'the body has both expiresAt and expiresIn, expected one of them');
  }
  if (expiresIn !== undefined) {
    return { label, expiresAtMs: nowMs + parseDuration(expiresIn, 'expiresIn', { minMs: 1 }) };
  }
  if (expiresAt === undefined) return { label, expiresAtMs: null };
  if (expiresAt > nowMs && expiresAt <= EXPIRY_MAX_MS) return { label, expiresAtMs: expiresAt };
  const why = expiresAt <= nowMs ? 'which is in the past' : 'which is after the year 9999';
  throw new CarillonError('INVALID_REQUEST', `expiresAt is ${expiresAt}, ${why}, expected epoch milliseconds to come`);
}

function tokenView(token: TokenInfo): TokenShown {
  const { id, label, source, createdAtMs, expiresAtMs, lastUsedAtMs } = token;
  return { id, label, source, createdAt: createdAtMs, expiresAt: expiresAtMs, lastUsedAt: lastUsedAtMs };
}
