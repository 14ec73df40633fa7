// The only error type that may reach a user: a stable code, and a text that names the error, the expected value and the
// location.

/** Stable codes. Each has its HTTP status in api/error-status.ts; a code without one does not compile. */
export type ErrorCode =
  | 'INVALID_REQUEST'
  | 'INVALID_DESTINATION'
  | 'INVALID_CRON'
  | 'LIMIT_EXCEEDED'
  | 'PAYLOAD_TOO_LARGE'
  | 'BODY_TOO_SLOW'
  | 'TENANT_BUSY'
  | 'NODE_BUSY'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'CONFLICT'
  | 'NOT_IMPLEMENTED'
  | 'POSTGRES_UNAVAILABLE'
  | 'REDIS_UNAVAILABLE'
  | 'SHUTTING_DOWN'
  | 'READ_TOO_SLOW'
  | 'TOO_MANY_READS'
  | 'CLIENT_GONE';

export class CarillonError extends Error {
  override readonly name = 'CarillonError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Throws when our own code reaches an impossible state: a bug in Carillon, not a mistake of the caller. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`invariant violated: ${message}`);
}
