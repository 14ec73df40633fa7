// The single map from error codes to HTTP statuses.

import type { ErrorCode } from '../domain/errors.js';

/** A code without a status does not compile. */
export const ERROR_STATUS = {
  INVALID_REQUEST: 400,
  INVALID_DESTINATION: 400,
  INVALID_CRON: 400,
  LIMIT_EXCEEDED: 400,
  PAYLOAD_TOO_LARGE: 413,
  BODY_TOO_SLOW: 408,
  TENANT_BUSY: 429,
  NODE_BUSY: 503,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  NOT_IMPLEMENTED: 501,
  POSTGRES_UNAVAILABLE: 503,
  REDIS_UNAVAILABLE: 503,
  SHUTTING_DOWN: 503,
  READ_TOO_SLOW: 503,
  TOO_MANY_READS: 429,
  // Not read by clients; logs and metrics of web servers use this name.
  CLIENT_GONE: 499,
} as const satisfies Record<ErrorCode, number>;

/** How long a client should wait before it repeats a request that was answered with 429 or 503. */
export const RETRY_AFTER_SECONDS = 1;
