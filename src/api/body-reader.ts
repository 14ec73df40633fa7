// Reads the bodies of authenticated requests: within the budget of the node and the tenant, no larger than the route
// allows, and no more slowly than the minimum rate. A batch is split while it arrives. Refused bodies and bodies of
// unknown callers are not kept.

import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Config } from '../config.js';
import { CarillonError } from '../domain/errors.js';
import { type BatchLimits, BatchSplitter } from './batch-splitter.js';
import { BodyBudget, type HeldBody, SMALL_BODY_BYTES } from './body-budget.js';
import { bodyTooLarge } from './delivery-headers.js';
import { jsonLimits } from './json-scanner.js';
import { nextTurn } from './turns.js';
import { closeAfterAnswer } from './unread-bodies.js';
import type { Cancel, ProcessTime } from '../domain/clock.js';
import type { ApiServices } from './services.js';
import { every } from '../time/waiting.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The body is a batch: `request.body` is its items, at most as many as this setting. */
    batch?: 'CARILLON_BATCH_MAX_ITEMS' | 'CARILLON_SCHEDULE_BATCH_MAX_ITEMS';
  }
  interface FastifyRequest {
    /** The count of the body in the node's budget, until the handler is done. */
    heldBody: HeldBody | null;
  }
}

/**
 * JSON needs at most six bytes for a byte of text, base64 fewer. In addition to its body an item has headers and URLs.
 */
const JSON_ESCAPE_BYTES = 6;

/** The share in which administrators' bodies count. */
const ADMINISTRATORS = 0;

const BODY_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** Registers the hooks; must be called before the routes. `isKnown` returns whether the caller is authenticated. */
export function readBodies(
  app: FastifyInstance,
  { config, time }: Pick<ApiServices, 'config' | 'time'>,
  isKnown: (request: FastifyRequest) => boolean,
): void {
  const budget = new BodyBudget(config);
  app.decorateRequest('heldBody', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, payload, done) => {
    if (request.is404 || !isKnown(request)) {
      done(null, undefined);
      return;
    }
    new Upload(request, payload, { config, time }, budget, done).start();
  });
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    if (!BODY_METHODS.some((method) => route.method.includes(method))) return;
    route.handler = async function (request, reply) {
      try {
        return await handler.call<typeof this, [typeof request, typeof reply], unknown>(this, request, reply);
      } finally {
        request.body = undefined;
        request.heldBody?.release();
      }
    };
  });
}

/** The destination of the bytes. */
interface Sink {
  push(chunk: Buffer): void;
  end(): unknown;
}

class Whole implements Sink {
  readonly #chunks: Buffer[] = [];

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  end(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/** An upload in progress. */
class Upload {
  readonly #request: FastifyRequest;
  readonly #payload: IncomingMessage;
  readonly #config: Config;
  readonly #time: ProcessTime;
  readonly #budget: BodyBudget;
  readonly #done: (error: Error | null, body?: unknown) => void;
  /** The declared number of bytes; null when the client declares none. */
  readonly #declared: number | null;
  readonly #maxBytes: number;
  #sink: Sink | null = null;
  #received = 0;
  #cancelRate: Cancel = () => undefined;
  /** Whether this node delays the upload. */
  #isWaiting = false;

  constructor(
    request: FastifyRequest,
    payload: IncomingMessage,
    { config, time }: Pick<ApiServices, 'config' | 'time'>,
    budget: BodyBudget,
    done: (error: Error | null, body?: unknown) => void,
  ) {
    this.#request = request;
    this.#payload = payload;
    this.#config = config;
    this.#time = time;
    this.#budget = budget;
    this.#done = done;
    const declared = request.headers['content-length'];
    this.#declared = declared === undefined ? null : Number(declared);
    this.#maxBytes = request.routeOptions.bodyLimit;
  }

  start(): void {
    const declared = this.#declared ?? 0;
    try {
      if (declared > this.#maxBytes) throw bodyTooLarge(declared, this.#maxBytes);
      this.#request.heldBody = this.#budget.hold(this.#request.authenticatedTenantId ?? ADMINISTRATORS, declared);
    } catch (error) {
      this.#refuse(error);
      return;
    }
    this.#sink = sinkOf(this.#request, this.#config);
    this.#payload.on('data', this.#onData);
    this.#payload.on('end', this.#onEnd);
    this.#payload.on('error', this.#onError);
    if (this.#declared === null || declared > SMALL_BODY_BYTES) this.#watchRate();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#received += chunk.length;
    try {
      if (this.#received > this.#maxBytes) throw bodyTooLarge(this.#declared, this.#maxBytes);
      this.#request.heldBody?.growTo(this.#received);
      this.#sink?.push(chunk);
    } catch (error) {
      this.#refuse(error);
      return;
    }
    if (this.#received > SMALL_BODY_BYTES) this.#waitForTurn();
  };

  /**
   * Reads the next chunk in a later round of the event loop. Otherwise a round would read and scan up to 2 MiB from
   * each connection: with some uploads at a time, heartbeats and deliveries would wait for seconds.
   */
  #waitForTurn(): void {
    this.#isWaiting = true;
    this.#payload.pause();
    void nextTurn().then(() => {
      this.#isWaiting = false;
      this.#payload.resume();
    });
  }

  readonly #onEnd = (): void => {
    this.#unlisten();
    let body: unknown;
    try {
      body = this.#sink?.end();
    } catch (error) {
      this.#refuse(error);
      return;
    }
    this.#done(null, body);
  };

  /** Called when the connection broke or the body was invalid. */
  readonly #onError = (error: Error): void => {
    this.#refuse(new CarillonError('INVALID_REQUEST', `the body did not arrive whole: ${error.message}`));
  };

  /**
   * Refuses a body that arrives too slowly: a client that declares a large body and sends slowly takes capacity from
   * others.
   */
  #watchRate(): void {
    const { CARILLON_BODY_RATE_MIN_BYTES: rate, CARILLON_BODY_STALL_MS: everyMs } = this.#config;
    if (rate === 0) return;
    const least = (rate * everyMs) / 1_000;
    let before = 0;
    this.#cancelRate = every(this.#time, everyMs, () => {
      const isSlow = this.#received - before < least && !this.#isWaiting;
      if (isSlow) this.#refuse(tooSlow(this.#received - before, everyMs, rate));
      before = this.#received;
    });
  }

  #refuse(error: unknown): void {
    this.#unlisten();
    this.#sink = null;
    this.#request.heldBody?.release();
    closeAfterAnswer(this.#payload, this.#time);
    this.#done(error as Error);
  }

  #unlisten(): void {
    this.#cancelRate();
    this.#payload.off('data', this.#onData);
    this.#payload.off('end', this.#onEnd);
    this.#payload.off('error', this.#onError);
  }
}

function sinkOf(request: FastifyRequest, config: Config): Sink {
  const setting = request.routeOptions.config.batch;
  return setting === undefined ? new Whole() : new BatchSplitter(batchLimits(config, setting));
}

function batchLimits(
  config: Config,
  itemsSetting: NonNullable<FastifyRequest['routeOptions']['config']['batch']>,
): BatchLimits {
  const { CARILLON_BODY_MAX_BYTES, CARILLON_HEADERS_MAX_BYTES, CARILLON_URL_MAX_BYTES } = config;
  const content = CARILLON_BODY_MAX_BYTES + 2 * CARILLON_HEADERS_MAX_BYTES + 4 * CARILLON_URL_MAX_BYTES;
  return {
    ...jsonLimits(config),
    maxItems: config[itemsSetting],
    itemsSetting,
    maxItemBytes: JSON_ESCAPE_BYTES * content,
  };
}

function tooSlow(bytes: number, durationMs: number, rate: number): CarillonError {
  return new CarillonError(
    'BODY_TOO_SLOW',
    `the body brought ${bytes} bytes in ${durationMs} ms, expected at least ${rate} bytes a second (CARILLON_BODY_RATE_MIN_BYTES)`,
  );
}
