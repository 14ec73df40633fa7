// What a publish or schedule request consists of, taken from Fastify's request.

import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../config.js';
import { checkDestination } from './destination.js';
import { rawBody } from './json-body.js';
import { headerLimits, settingsOfHttp, type RequestSettings } from './request-settings.js';

export interface RequestSource {
  readonly tenantId: number;
  /** Checked; verbatim. */
  readonly destination: string;
  readonly settings: RequestSettings;
  readonly body: Buffer;
  readonly callerIp: string | null;
}

/** Throws INVALID_DESTINATION, INVALID_REQUEST, LIMIT_EXCEEDED, NOT_IMPLEMENTED. */
export function requestSource(request: FastifyRequest, config: Config): RequestSource {
  const { target } = request;
  const given = target.kind === 'other' ? { destination: '', settings: [] } : target;
  return {
    tenantId: request.tenantId,
    destination: checkDestination(given.destination, config),
    settings: settingsOfHttp(
      {
        rawHeaders: request.raw.rawHeaders,
        query: given.settings,
        authorizationIsOurs: request.authorizationIsOurs,
      },
      headerLimits(config),
    ),
    body: rawBody(request.body),
    callerIp: callerIp(request),
  };
}

/**
 * The address at the other end of the socket; behind a trusted load balancer, the one that it names. An IPv4 address in its own form.
 */
export function callerIp(request: FastifyRequest): string | null {
  const address = isIP(request.ip) === 0 ? request.raw.socket.remoteAddress : request.ip;
  return address === undefined ? null : address.replace(/^::ffff:(?=\d+\.)/i, '');
}
