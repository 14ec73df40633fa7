// Turns errors into answers: {"error": text} and a status. Unexpected errors are logged with an id.

import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { CarillonError } from '../domain/errors.js';
import { ERROR_STATUS, RETRY_AFTER_SECONDS } from './error-status.js';
import type { ApiServices } from './services.js';
import { closeAfterAnswer, hasMuchToCome } from './unread-bodies.js';

/** The answer in place of a result, also for a single item of a batch. */
export interface ErrorAnswer {
  readonly status: number;
  readonly text: string;
}

/** Refusals of the router, by the code of its error. */
const TARGET_ERRORS: Readonly<Record<string, ErrorAnswer>> = {
  FST_ERR_BAD_URL: {
    status: 400,
    text: 'the path cannot be percent-decoded, expected %XX of UTF-8 and %25 for a percent sign',
  },
  FST_ERR_MAX_PARAM_LENGTH: {
    status: 414,
    text: 'a segment of the path is too long to name anything, ids have at most 256 characters',
  },
};
/** The router's own texts repeat the whole path; only this much of them is shown. */
const SHOWN_TARGET_LENGTH = 80;

/** Returns the status and text of an error of the caller (or a temporary state), or null for an internal error. */
export function expectedError(error: unknown): ErrorAnswer | null {
  if (error instanceof CarillonError) return { status: ERROR_STATUS[error.code], text: error.message };
  if (!(error instanceof Error)) return null;
  const { statusCode, code } = error as Partial<FastifyError>;
  const ofTarget = TARGET_ERRORS[code ?? ''];
  if (ofTarget !== undefined) {
    return { ...ofTarget, text: `${ofTarget.text}: ${error.message.slice(0, SHOWN_TARGET_LENGTH)}` };
  }
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500
    ? { status: statusCode, text: error.message }
    : null;
}

/** Logs an internal error and returns an answer that contains only the id under which it was logged. */
function unexpectedError(error: unknown, { random, logger }: Pick<ApiServices, 'random' | 'logger'>): ErrorAnswer {
  const requestId = Buffer.from(random(8)).toString('hex');
  logger.error({ err: error, requestId }, 'a request failed unexpectedly');
  return { status: 500, text: `an unexpected error, logged as request ${requestId}` };
}

/** Answers an error; used as Fastify's error handler and for its framework errors. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply, services: ApiServices): void {
  const problem = expectedError(error) ?? unexpectedError(error, services);
  if (hasMuchToCome(request.raw)) {
    void reply.header('connection', 'close');
    closeAfterAnswer(request.raw, services.time);
  }
  if (problem.status === 429 || problem.status === 503) void reply.header('retry-after', String(RETRY_AFTER_SECONDS));
  void reply
    .code(problem.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: problem.text }));
}

/** Requests that node:http could not parse, by the code of its error. */
const UNREADABLE: Readonly<Record<string, ErrorAnswer>> = {
  HPE_HEADER_OVERFLOW: { status: 431, text: 'the target and the headers of the request are too large together' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, text: 'the request did not arrive whole in time' },
};

/** Answers an Expect header other than 100-continue. */
export function answerExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const text = 'Expect has an expectation that nothing here meets: expected 100-continue, or no such header';
  // The body is not read.
  const headers = { 'content-type': 'application/json; charset=utf-8', connection: 'close' };
  response.writeHead(417, headers).end(JSON.stringify({ error: text }));
}

/** Answers a message that is no HTTP request, and ends the connection, so that the client sends no other one on it. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, text } = UNREADABLE[error.code ?? ''] ?? {
    status: 400,
    text: `this is no valid HTTP request: ${error.message}; percent-encode what a URL or header cannot hold`,
  };
  endWith(socket, { status, text });
}

/** Answers CONNECT, which node:http does not answer itself: this is no proxy. */
export function answerConnect(_request: IncomingMessage, socket: Duplex): void {
  socket.on('error', () => socket.destroy());
  endWith(socket, { status: 405, text: 'this is no proxy: CONNECT is not taken' });
}

function endWith(socket: Duplex, { status, text }: ErrorAnswer): void {
  const body = JSON.stringify({ error: text });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
