// What a request is deduplicated by when it asks for that by its content.

import { createHash } from 'node:crypto';
import type { Request } from '../domain/message.js';

/**
 * SHA-256, as base64url, over destination, forwarded headers (Content-Type among them, in the order of their names) and body;
 * `extra` is what else makes a difference. Nothing that clients add about themselves enters.
 */
export function contentHash(request: Pick<Request, 'destination' | 'headers' | 'body'>, extra = ''): string {
  const headers = Object.entries(request.headers).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([request.destination, headers, extra]))
    .update('\n')
    .update(request.body)
    .digest('base64url');
}

/** 20 hexadecimal digits of a text's SHA-256: enough for ids within one tenant. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20);
}
