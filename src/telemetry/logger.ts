// Logs for operators: one JSON line an event that matters, ids in fields, no secrets.

import { pino, type Logger } from 'pino';

export function createLogger(node: string, level: string): Logger {
  return pino({
    level,
    base: { node },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: ['token', '*.token', 'authorization', '*.authorization', 'password', '*.password'], remove: true },
  });
}
