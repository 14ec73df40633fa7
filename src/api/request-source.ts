// Extracts the parts of a publish or schedule request from Fastify's request.

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { all, compile } from '@fastify/proxy-addr';
import type { FastifyRequest } from 'fastify';
import { type Config, trustedProxies } from '../config.js';
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

/** Returns the parts of a request. Throws INVALID_DESTINATION, INVALID_REQUEST, LIMIT_EXCEEDED, NOT_IMPLEMENTED. */
export function requestSource(request: FastifyRequest, config: Config): RequestSource {
  const { target } = request;
  const source = target.kind === 'other' ? { destination: '', settings: [] } : target;
  return {
    tenantId: request.tenantId,
    destination: checkDestination(source.destination, config),
    settings: settingsOfHttp(
      {
        rawHeaders: request.raw.rawHeaders,
        query: source.settings,
        authorizationIsOurs: request.authorizationIsOurs,
      },
      headerLimits(config),
    ),
    body: rawBody(request.body),
    callerIp: callerIp(request),
  };
}

/**
 * Returns the address of the peer; behind a trusted load balancer, the address that it names. IPv4 addresses have their
 * own form.
 */
export function callerIp(request: FastifyRequest): string | null {
  return plainAddress(request.ip, request.raw);
}

/**
 * Returns `callerIp` for requests that Fastify does not see, such as upgrades; it judges load balancers in the same
 * way.
 */
export function callerIpOfRaw(config: Config): (request: IncomingMessage) => string | null {
  const isTrusted = compile(trustedProxies(config));
  return (request) => plainAddress(all(request, isTrusted).at(-1) ?? '', request);
}

function plainAddress(found: string, raw: IncomingMessage): string | null {
  const address = isIP(found) === 0 ? raw.socket.remoteAddress : found;
  return address === undefined ? null : address.replace(/^::ffff:(?=\d+\.)/i, '');
}
