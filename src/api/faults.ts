// Turns whatever went wrong into an answer: {"error": text} and a status; what nobody foresaw is logged with an id to find it by.

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { CarillonError } from '../domain/errors.js';
import { bodyTooLarge } from './delivery-headers.js';
import { ERROR_STATUS, RETRY_AFTER_SECONDS } from './error-status.js';
import type { ApiServices } from './services.js';

/** What is answered in place of a result, also for a single item of a batch. */
export interface Fault {
  readonly status: number;
  readonly text: string;
}

/** The status and text of an error that is the caller's (or the moment's), or null for one that is ours. */
export function foreseenFault(error: unknown): Fault | null {
  if (error instanceof CarillonError) return { status: ERROR_STATUS[error.code], text: error.message };
  if (!(error instanceof Error)) return null;
  const { statusCode } = error as Partial<FastifyError>;
  return statusCode !== undefined && statusCode >= 400 && statusCode < 500
    ? { status: statusCode, text: error.message }
    : null;
}

/** Logs an error of ours and gives the answer that says no more than the id under which it was logged. */
export function unforeseenFault(error: unknown, { chance, logger }: Pick<ApiServices, 'chance' | 'logger'>): Fault {
  const requestId = Buffer.from(chance(8)).toString('hex');
  logger.error({ err: error, requestId }, 'a request failed unexpectedly');
  return { status: 500, text: `an unexpected error, logged as request ${requestId}` };
}

/** Answers an error; for Fastify's error handler and for its framework errors. */
export function answerFault(error: unknown, request: FastifyRequest, reply: FastifyReply, services: ApiServices): void {
  const isTooLarge = error instanceof Error && 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';
  const known = isTooLarge ? tooLarge(request) : error;
  const fault = foreseenFault(known) ?? unforeseenFault(known, services);
  if (fault.status === 429 || fault.status === 503) void reply.header('retry-after', String(RETRY_AFTER_SECONDS));
  void reply
    .code(fault.status)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: fault.text }));
}

function tooLarge(request: FastifyRequest): CarillonError {
  const declared = Number(request.headers['content-length'] ?? Number.NaN);
  return bodyTooLarge(Number.isSafeInteger(declared) ? declared : null, request.routeOptions.bodyLimit);
}

/** What node:http could not even read as a request, by the code of its error. */
const UNREADABLE: Readonly<Record<string, Fault>> = {
  HPE_HEADER_OVERFLOW: { status: 431, text: 'the target and the headers of the request are too large together' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, text: 'the request did not arrive whole in time' },
};

/** Answers what is no HTTP request, and says that the connection ends, so that nobody sends another one on it. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, text } = UNREADABLE[error.code ?? ''] ?? {
    status: 400,
    text: `this is no valid HTTP request: ${error.message}; percent-encode what a URL or header cannot hold`,
  };
  const body = JSON.stringify({ error: text });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
