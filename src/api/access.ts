// Access to routes. Each route declares in its config (`access`) who may call it. The check uses the route that the
// router matched, never the text of a URL, which a second parser would sooner or later read differently. A route
// without the declaration does not register.

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invariant } from '../domain/errors.js';
import { tenantNamed } from '../postgres/tenants/tenants.js';
import { actsForTenant, admit, Authenticator, bearerToken, ConfiguredAdmin, TENANT_HEADER } from './auth.js';
import type { KnownPaths } from './known-paths.js';
import type { ApiArea, ApiServices } from './services.js';

/**
 * `tenant`: a tenant's token, or an administrator's with `Carillon-Tenant`. `admin`: an administrator's token.
 * `metrics`: likewise, and the configured token also while PostgreSQL is unavailable. `open`: everybody.
 */
const ACCESS = ['tenant', 'admin', 'metrics', 'open'] as const;
export type Access = (typeof ACCESS)[number];

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call the route. */
    readonly access: Access;
  }
  interface FastifyRequest {
    /** The tenant of the request. Throws when the request was not authenticated for one. */
    readonly tenantId: number;
    /** Set by the authentication of a `tenant` route; handlers read `tenantId`. */
    authenticatedTenantId: number | null;
    /** Whether the Authorization header contained the caller's token (not a value for a destination). */
    authorizationIsOurs: boolean;
  }
}

/**
 * Makes the registration of a route without `access` throw; also for HEAD routes, other methods and routes of plugins.
 * Must be called before any route.
 */
export function requireAccess(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    if (isAccess((config as { access?: unknown } | undefined)?.access)) return;
    const name = `${[method].flat().join(', ')} ${url}`;
    throw new Error(
      `${name} does not declare who may call it: expected config.access to be one of ${ACCESS.join(', ')}`,
    );
  });
}

function isAccess(value: unknown): value is Access {
  return ACCESS.some((access) => access === value);
}

/**
 * Returns who may make this request: the declaration of the matched route; without a match, that of neighbouring
 * routes.
 */
function accessOf(request: FastifyRequest, paths: KnownPaths): Access {
  if (request.is404) return paths.accessAround(request.url);
  const { access }: { access?: unknown } = request.routeOptions.config;
  invariant(isAccess(access), `${request.routeOptions.url ?? 'a route'} was registered without its access`);
  return access;
}

/** Returns the part of the API that a request was for. */
export function areaOf(request: FastifyRequest, paths: KnownPaths): ApiArea {
  const access = accessOf(request, paths);
  return access === 'tenant' || access === 'admin' ? access : 'node';
}

/** Checks the token of each request before anything else, as the matched route declares. */
export function authenticate(app: FastifyInstance, paths: KnownPaths, services: ApiServices): void {
  const { database, clock, time, config } = services;
  const authenticator = new Authenticator(database, clock, config.CARILLON_TOKEN_CACHE_MS);
  const configuredAdmin = new ConfiguredAdmin(config.CARILLON_ADMIN_TOKEN, authenticator, time);
  app.decorateRequest('authenticatedTenantId', null);
  app.decorateRequest('authorizationIsOurs', false);
  app.decorateRequest('tenantId', {
    getter(this: FastifyRequest) {
      const id = this.authenticatedTenantId;
      invariant(id !== null, 'the tenant of a request was read that was not authenticated for one');
      return id;
    },
  });
  app.addHook('onRequest', async (request) => {
    const access = accessOf(request, paths);
    if (access === 'open') return;
    // A token in the query is always for this API; Authorization may then be for the destination. An administrator's
    // token is not accepted there, since URLs are logged in many places.
    const queryToken = access === 'tenant' ? request.target.token : null;
    const token = queryToken ?? bearerToken(request.headers.authorization);
    request.authorizationIsOurs = queryToken === null;
    if (access === 'metrics' && token !== null && (await configuredAdmin.admits(token))) return;
    const found = token === null ? null : authenticator.find(token);
    const holder = found instanceof Promise ? await found : found;
    if (access !== 'tenant') {
      admit(holder, token, 'admin');
      return;
    }
    const actsFor = request.headers[TENANT_HEADER];
    if (actsFor !== undefined && holder !== null) {
      request.authenticatedTenantId = (await tenantNamed(database, actsForTenant(holder, actsFor))).id;
      return;
    }
    request.authenticatedTenantId = admit(holder, token, 'tenant').tenantId;
  });
}
