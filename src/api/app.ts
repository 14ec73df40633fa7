// Builds the API, apart from listening: raw targets, raw bodies, who may call, faults, routes, and the OpenAPI document.

import type { IncomingMessage } from 'node:http';
import swagger from '@fastify/swagger';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { trustedProxies } from '../config.js';
import { CarillonError } from '../domain/errors.js';
import { tenantNamed } from '../table/tenants.js';
import { actsForTenant, admit, Authenticator, bearerToken, isConfiguredAdminToken, TENANT_HEADER } from './auth.js';
import { answerFault, answerUnreadable } from './faults.js';
import { answerUnknownPaths } from './known-paths.js';
import { openApi } from './openapi.js';
import { readTarget, type RawTarget } from './raw-target.js';
import { registerCluster } from './routes/cluster.js';
import { registerAdmin } from './routes/tenants.js';
import { registerBatch } from './routes/batch.js';
import { registerConsole } from './routes/console.js';
import { registerCron } from './routes/cron.js';
import { registerDlq } from './routes/dlq.js';
import { registerDlqGroups } from './routes/dlq-groups.js';
import { registerEvents } from './routes/events.js';
import { registerExplain } from './routes/explain.js';
import { registerExport } from './routes/export.js';
import { registerHealth } from './routes/health.js';
import { registerKeys } from './routes/keys.js';
import { registerMessages } from './routes/messages.js';
import { registerMetrics } from './routes/metrics.js';
import { registerNotImplemented } from './routes/not-implemented.js';
import { registerOpenApi } from './routes/openapi.js';
import { registerPublish } from './routes/publish.js';
import { registerRuns } from './routes/runs.js';
import { registerScheduleBatch } from './routes/schedule-batch.js';
import { registerSchedules } from './routes/schedules.js';
import type { ApiArea, ApiServices } from './services.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's tenant. Set on everything below /v2; 0 elsewhere. */
    tenantId: number;
    /** The target as it was sent, taken apart. */
    target: RawTarget;
    /** Whether the Authorization header held the caller's token (and not something that is meant for a destination). */
    authorizationIsOurs: boolean;
  }
}

/** A request must have arrived whole within this time: a slow sender must not hold a socket. */
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 72_000;
/** Node.js looks so often which connections exceeded their time. */
const CONNECTIONS_CHECKED_MS = 5_000;
/** Beside the forwarded headers and the target there are the settings and what clients add by themselves. */
const OTHER_HEADERS_BYTES = 16_384;
/** Longer path parameters name nothing: ids have at most 256 characters, each perhaps percent-encoded. */
const PARAM_MAX_LENGTH = 1_024;

/** The whole API. `listen` it, or `inject` requests; `close` finishes the requests under way. */
export function buildApp(services: ApiServices): FastifyInstance {
  const { config } = services;
  const targets = new WeakMap<IncomingMessage, RawTarget>();
  const proxies = trustedProxies(config);
  const app = fastify({
    trustProxy: proxies.length > 0 ? proxies : false,
    logger: false,
    bodyLimit: config.CARILLON_BODY_MAX_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    // We answer them ourselves, so that the client learns when to ask again.
    return503OnClosing: false,
    http: {
      maxHeaderSize: config.CARILLON_HEADERS_MAX_BYTES + config.CARILLON_URL_MAX_BYTES + OTHER_HEADERS_BYTES,
      headersTimeout: config.CARILLON_HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: Math.min(config.CARILLON_HEADERS_TIMEOUT_MS, CONNECTIONS_CHECKED_MS),
    },
    routerOptions: { maxParamLength: PARAM_MAX_LENGTH },
    rewriteUrl: (raw) => {
      const target = readTarget(raw.method ?? '', raw.url ?? '/');
      targets.set(raw, target);
      // Fastify refuses media types that it cannot read. Here the type of a body is between the client and its destination;
      // it is read from the raw headers.
      delete raw.headers['content-type'];
      return target.kind === 'other' ? target.url : `/v2/${INTERNAL_PATHS[target.kind]}`;
    },
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error, request, reply) => {
      answerFault(error, request, reply, services);
    },
  });

  app.server.maxConnections = config.CARILLON_CONNECTIONS_MAX;
  app.decorateRequest('tenantId', 0);
  app.decorateRequest('authorizationIsOurs', false);
  app.decorateRequest('target', { getter: targetOf(targets) });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  // Bodies are raw here and checked by their routes; answers are written as they are given.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error, request, reply) => {
    answerFault(error, request, reply, services);
  });
  answerUnknownPaths(app);
  countAnswers(app, services);
  refuseWhileClosing(app, services);
  app.addHook('onRequest', authenticate(services));
  void app.register(swagger, openApi());
  void app.register((scope, _options, done) => {
    registerRoutes(scope, services);
    done();
  });
  return app;
}

/** Where the router finds what has a destination in its path. Only POST comes here; GET /v2/schedules is another route. */
const INTERNAL_PATHS = { publish: 'publish', schedule: 'schedules', enqueue: 'enqueue' } as const;

function registerRoutes(app: FastifyInstance, services: ApiServices): void {
  registerPublish(app, services);
  registerBatch(app, services);
  registerSchedules(app, services);
  registerScheduleBatch(app, services);
  registerCron(app, services);
  registerExplain(app, services);
  registerKeys(app, services);
  registerNotImplemented(app);
  registerAdmin(app, services);
  registerCluster(app, services);
  registerConsole(app, services);
  registerDlqGroups(app, services);
  registerHealth(app, services);
  registerMetrics(app, services);
  registerOpenApi(app);
  registerMessages(app, services);
  registerDlq(app, services);
  registerEvents(app, services);
  registerRuns(app, services);
  registerExport(app, services);
}

function targetOf(targets: WeakMap<IncomingMessage, RawTarget>): (this: FastifyRequest) => RawTarget {
  return function (this: FastifyRequest) {
    return targets.get(this.raw) ?? readTarget(this.method, this.originalUrl);
  };
}

/** Connections that are kept alive may bring requests after the end has begun: they are to be made anew, elsewhere. */
function refuseWhileClosing(app: FastifyInstance, { health }: ApiServices): void {
  let isClosing = false;
  app.addHook('preClose', (done) => {
    isClosing = true;
    done();
  });
  app.addHook('onRequest', (_request, reply, done) => {
    if (isClosing || health.leaving()) void reply.header('connection', 'close');
    if (!isClosing) {
      done();
      return;
    }
    done(new CarillonError('SHUTTING_DOWN', 'this node is stopping: send the request again'));
  });
}

function countAnswers(app: FastifyInstance, { metrics }: ApiServices): void {
  app.addHook('onResponse', (request, reply, done) => {
    metrics.answered(areaOf(request.url), reply.statusCode, reply.elapsedTime);
    done();
  });
}

/** Everything below /v2 is a tenant's, everything below /admin the administrator's; the rest is about the node. */
function areaOf(path: string): ApiArea {
  if (/^\/v2(?:[/?]|$)/i.test(path)) return 'tenant';
  return /^\/admin(?:[/?]|$)/i.test(path) ? 'admin' : 'node';
}

function isMetrics(path: string): boolean {
  return /^\/metrics(?:[/?]|$)/i.test(path);
}

/** What is about the node is open, save for the figures. */
function authenticate(services: ApiServices): (request: FastifyRequest) => Promise<void> {
  const { database, clock, config } = services;
  const authenticator = new Authenticator(database, clock, config.CARILLON_TOKEN_CACHE_MS);
  return async (request) => {
    const area = areaOf(request.url);
    const forFigures = isMetrics(request.url) && !config.CARILLON_METRICS_PUBLIC;
    if ((area === 'node' && !forFigures) || request.routeOptions.config.isOpen === true) return;
    // A token in the query can only be meant for us; Authorization may then be for the destination.
    const queryToken = request.target.token;
    const token = queryToken ?? bearerToken(request.headers.authorization);
    request.authorizationIsOurs = queryToken === null;
    if (forFigures && token !== null && isConfiguredAdminToken(token, config.CARILLON_ADMIN_TOKEN)) return;
    const found = token === null ? null : authenticator.find(token);
    const holder = found instanceof Promise ? await found : found;
    const actsFor = request.headers[TENANT_HEADER];
    if (area === 'tenant' && actsFor !== undefined && holder !== null) {
      request.tenantId = (await tenantNamed(database, actsForTenant(holder, actsFor))).id;
      return;
    }
    request.tenantId = admit(holder, token, area === 'tenant' ? 'tenant' : 'admin').tenantId ?? 0;
  };
}
