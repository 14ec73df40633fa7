// The hash for deduplication by content.

import { createHash } from 'node:crypto';
import type { Request } from '../domain/message.js';

/**
 * Returns SHA-256, as base64url, over destination, forwarded headers (including Content-Type, in the order of their
 * names) and body; `extra` is any other distinguishing text. Excludes what clients add about themselves.
 */
export function contentHash(request: Pick<Request, 'destination' | 'headers' | 'body'>, extra = ''): string {
  const headers = Object.entries(request.headers).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([request.destination, headers, extra]))
    .update('\n')
    .update(request.body)
    .digest('base64url');
}

/** Returns 20 hexadecimal digits of a text's SHA-256: enough for ids within one tenant. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20);
}
