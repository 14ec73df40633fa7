// Handles requests for an upgrade before a websocket is opened, or instead of it.

import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Returns whether a page may open sockets here. Browsers always send their origin; programs do not, and authenticate
 * with a token. `host` is the Host header of the request.
 */
export function isAllowedOrigin(
  origin: string | undefined,
  host: string | undefined,
  allowed: readonly string[],
): boolean {
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin.toLowerCase())) return true;
  try {
    return new URL(origin).host === host?.toLowerCase();
  } catch {
    return false;
  }
}

export function refuseUpgrade(socket: Duplex, status: number, text: string): void {
  const body = JSON.stringify({ error: text });
  socket.once('finish', () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

const NOT_PASSED_ON = new Set(['upgrade', 'http2-settings', 'connection']);

/**
 * Lets the server parse the request again without the upgrade. Some clients (Java's) request HTTP/2 in this way with
 * every first request, and a server that handles upgrades receives those too; HTTP/1.1 allows to answer them by
 * ignoring the upgrade.
 */
export function replayWithoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method ?? 'GET'} ${request.url ?? '/'} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!NOT_PASSED_ON.has(name.toLowerCase())) lines.push(`${name}: ${rawHeaders[index + 1] ?? ''}`);
  }
  const again = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  socket.removeAllListeners('error');
  socket.unshift(Buffer.concat([again, head]));
  server.emit('connection', socket);
}
