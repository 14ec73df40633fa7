// Builds the API without listening: raw targets, raw bodies, access, errors, routes, and the OpenAPI document.

import type { IncomingMessage } from 'node:http';
import swagger from '@fastify/swagger';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { trustedProxies } from '../config.js';
import { CarillonError } from '../domain/errors.js';
import { areaOf, authenticate, requireAccess } from './access.js';
import { readBodies } from './body-reader.js';
import { answerConnect, answerExpectation, answerError, answerUnreadable } from './error-answers.js';
import { jsonLimits } from './json-scanner.js';
import { KnownPaths } from './known-paths.js';
import { openApi } from './openapi.js';
import { readTarget, type RawTarget } from './raw-target.js';
import { registerCluster } from './routes/cluster.js';
import { registerTenants } from './routes/tenants.js';
import { registerTokens } from './routes/tokens.js';
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
import type { ApiServices } from './services.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The target as it was sent, parsed. */
    target: RawTarget;
  }
}

/** A request must arrive completely within this time: a slow sender must not occupy a socket. */
const REQUEST_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_MS = 72_000;
/** Interval at which Node.js checks connections for exceeded times. */
const CONNECTIONS_CHECKED_MS = 5_000;
/** In addition to the forwarded headers and the target there are the settings and the client's own headers. */
const OTHER_HEADERS_BYTES = 16_384;
/** Longer path parameters match nothing: ids have at most 256 characters, each possibly percent-encoded. */
const PARAM_MAX_LENGTH = 1_024;

/**
 * Returns the whole API. `listen` starts it, `inject` makes test requests, `close` finishes the requests in progress.
 */
export function buildApp(services: ApiServices): FastifyInstance {
  const { config } = services;
  const targets = new WeakMap<IncomingMessage, RawTarget>();
  const proxies = trustedProxies(config);
  const limits = { ...jsonLimits(config), maxBytes: config.CARILLON_JSON_MAX_BYTES };
  const app = fastify({
    trustProxy: proxies.length > 0 ? proxies : false,
    logger: false,
    bodyLimit: config.CARILLON_BODY_MAX_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    // Our own hook answers them, so that the client learns when to retry.
    return503OnClosing: false,
    // Node would refuse it without a text; requireHost does so with one.
    http: {
      requireHostHeader: false,
      maxHeaderSize: config.CARILLON_HEADERS_MAX_BYTES + config.CARILLON_URL_MAX_BYTES + OTHER_HEADERS_BYTES,
      headersTimeout: config.CARILLON_HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: Math.min(config.CARILLON_HEADERS_TIMEOUT_MS, CONNECTIONS_CHECKED_MS),
    },
    routerOptions: { maxParamLength: PARAM_MAX_LENGTH },
    rewriteUrl: (raw) => {
      const target = readTarget(raw.method ?? '', raw.url ?? '/');
      targets.set(raw, target);
      // Fastify refuses media types that it cannot parse. Here the type of a body is between the client and its
      // destination; it is read from the raw headers.
      delete raw.headers['content-type'];
      return target.kind === 'other' ? target.url : `/v2/${INTERNAL_PATHS[target.kind]}`;
    },
    clientErrorHandler: answerUnreadable,
    frameworkErrors: (error, request, reply) => {
      answerError(error, request, reply, services);
    },
  });

  app.server.maxConnections = config.CARILLON_CONNECTIONS_MAX;
  app.server.on('checkExpectation', answerExpectation);
  app.server.on('connect', answerConnect);
  requireAccess(app);
  app.decorateRequest('target', { getter: targetOf(targets) });
  app.decorateRequest('jsonLimits', { getter: () => limits });
  // Bodies are raw here and checked by their routes; answers are not transformed.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  app.setErrorHandler((error, request, reply) => {
    answerError(error, request, reply, services);
  });
  const paths = new KnownPaths(app);
  // Only authenticated requests: a body for an open route is of no use to it.
  readBodies(app, services, (request) => areaOf(request, paths) !== 'node');
  countAnswers(app, paths, services);
  refuseWhileClosing(app, services);
  requireHost(app);
  authenticate(app, paths, services);
  void app.register(swagger, openApi());
  void app.register((scope, _options, done) => {
    try {
      registerRoutes(scope, services);
      done();
    } catch (error) {
      // Thrown from here it would end the process instead of failing the start.
      done(error as Error);
    }
  });
  return app;
}

/**
 * The router's path for requests with a destination in their path. Only POST comes here; GET /v2/schedules is another
 * route.
 */
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
  registerTenants(app, services);
  registerTokens(app, services);
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

/** Closes keep-alive connections that bring requests during shutdown: clients must reconnect, to another node. */
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

/**
 * Refuses requests without exactly one Host header, which HTTP/1.1 requires: a proxy before this node may read two
 * differently.
 */
function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const { httpVersion, rawHeaders } = raw;
    const count = rawHeaders.filter((text, index) => index % 2 === 0 && isHost(text)).length;
    if (count === 1 || (count === 0 && httpVersion === '1.0')) done();
    else
      done(new CarillonError('INVALID_REQUEST', `this is no valid HTTP request: ${count} Host headers, expected one`));
  });
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === 'host';
}

function countAnswers(app: FastifyInstance, paths: KnownPaths, { metrics }: ApiServices): void {
  app.addHook('onResponse', (request, reply, done) => {
    metrics.answered(areaOf(request, paths), reply.statusCode, reply.elapsedTime);
    done();
  });
}
