// Logs for operators: one JSON line an event that matters, ids in fields, no secrets.

import { pino, type Logger } from 'pino';
import { CarillonError } from '../domain/errors.js';

/** What is logged about a promise that nobody handled: an error of ours, which tests and chaos look for. */
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

/** What an operator needs of an error. Where a store is unavailable the stack says nothing; a client's error may hold the whole client. */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const isExpected = error instanceof CarillonError || 'code' in error;
  return { type: error.name, message: error.message, ...code, ...(isExpected ? {} : { stack: error.stack }) };
}
