// Handles answers that are sent before the request was read completely: the client must read the answer and stop
// sending.

import type { IncomingMessage } from 'node:http';
import type { ProcessTime } from '../domain/clock.js';

/** How long a client may continue to send data that is dropped, until it reads the answer. */
const LINGER_MS = 2_000;
/** This much is read and dropped silently, and the connection stays open. */
const HARMLESS_BYTES = 64 * 1_024;

const lingering = new WeakSet<IncomingMessage>();

/** Returns whether the rest of a request is too large to read and drop. */
export function hasMuchToCome(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const declared = request.headers['content-length'];
  return declared === undefined
    ? request.headers['transfer-encoding'] !== undefined
    : Number(declared) > HARMLESS_BYTES;
}

/**
 * Ends the connection after the answer, with a delay: closing a connection on which data arrives resets it, and the
 * client, still sending, would not see the answer. Data that arrives meanwhile is dropped. The answer should contain
 * `Connection: close`.
 */
export function closeAfterAnswer(request: IncomingMessage, time: ProcessTime): void {
  const { socket } = request;
  if (request.complete || lingering.has(request) || socket.destroyed) return;
  lingering.add(request);
  const endNow = socket.destroySoon.bind(socket);
  // This is how node:http ends a connection after its last answer.
  socket.destroySoon = () => {
    if (request.complete) {
      endNow();
      return;
    }
    socket.end();
    socket.once(
      'close',
      time.after(LINGER_MS, () => socket.destroy()),
    );
    request.once('end', endNow);
  };
  // An upload that breaks now is no error.
  request.on('error', () => undefined);
  request.resume();
}
