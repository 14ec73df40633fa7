// The depth of work that a request creates, from the header of deliveries (Carillon-Depth): one more than that of the
// delivery that caused the request.
//
// A handler that forwards the headers of a delivery, by itself or through a client that prefixes them with
// Upstash-Forward-, sends its depth. Of several values the greatest counts: no added header reduces the depth.

import type { FastifyRequest } from 'fastify';
import type { Config } from '../config.js';
import { depthRefusal } from '../domain/depth.js';
import { CarillonError } from '../domain/errors.js';
import { DEPTH_HEADER } from '../delivery/request-headers.js';

const NAME = DEPTH_HEADER.toLowerCase();
const NAMES: ReadonlySet<string> = new Set([NAME, `upstash-forward-${NAME}`]);

export function isDepthHeader(lowerCaseName: string): boolean {
  return NAMES.has(lowerCaseName);
}

/**
 * Returns the depth of work created by a request with this header value. Several values may have been joined. Throws
 * INVALID_REQUEST.
 */
export function depthAfter(value: string): number {
  const depths = value.split(',').map((part) => {
    const text = part.trim();
    if (/^\d{1,9}$/.test(text)) return Number(text);
    throw new CarillonError(
      'INVALID_REQUEST',
      `${DEPTH_HEADER} is ${JSON.stringify(value.slice(0, 40))}, expected the whole number that a delivery carries, or no such header`,
    );
  });
  return Math.max(...depths) + 1;
}

/**
 * Returns the depth of work that a request creates; 0 without a causing delivery. Throws INVALID_REQUEST, and
 * LIMIT_EXCEEDED when it is too deep.
 */
export function requestDepth(request: FastifyRequest, config: Config): number {
  const { rawHeaders } = request.raw;
  let depth = 0;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (isDepthHeader((rawHeaders[index] ?? '').toLowerCase())) {
      depth = Math.max(depth, depthAfter(rawHeaders[index + 1] ?? ''));
    }
  }
  return checkDepth(depth, config);
}

/** Returns the depth. Throws LIMIT_EXCEEDED when it is too deep. */
export function checkDepth(depth: number, config: Config): number {
  const refusal = depthRefusal(depth, config.CARILLON_DEPTH_MAX);
  if (refusal !== null) throw new CarillonError('LIMIT_EXCEEDED', `refused: ${refusal}`);
  return depth;
}
