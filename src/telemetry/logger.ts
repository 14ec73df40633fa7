// Logs for operators: one JSON line for each important event, ids in fields, no secrets.

import { pino, type Logger } from 'pino';
import { CarillonError } from '../domain/errors.js';

/** The log line of an unhandled rejection: a bug of ours, which tests and chaos search for. */
export const UNHANDLED_REJECTION = 'a promise was rejected and nobody handled it';

export function createLogger(node: string, level: string): Logger {
  return pino({
    level,
    base: { node },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describe },
    redact: { paths: ['token', '*.token', 'authorization', '*.authorization', 'password', '*.password'], remove: true },
  });
}

/**
 * Returns the fields of an error that an operator needs. When a store is unavailable the stack is useless; the error of
 * a client may contain the whole client.
 */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const isExpected = error instanceof CarillonError || 'code' in error;
  return { type: error.name, message: error.message, ...code, ...(isExpected ? {} : { stack: error.stack }) };
}
