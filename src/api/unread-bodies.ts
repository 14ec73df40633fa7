// Answers that come before the request was read to its end: the client should read the answer, and not send the rest.

import type { IncomingMessage } from 'node:http';
import type { ProcessTime } from '../domain/clock.js';

/** How long a client may go on sending what nobody keeps, so that it gets to reading the answer. */
const LINGER_MS = 2_000;
/** So much is read away without a word, and the connection stays. */
const HARMLESS_BYTES = 64 * 1_024;

const lingering = new WeakSet<IncomingMessage>();

/** Whether a request has more to come than is worth reading away. */
export function hasMuchToCome(request: IncomingMessage): boolean {
  if (request.complete) return false;
  const declared = request.headers['content-length'];
  return declared === undefined
    ? request.headers['transfer-encoding'] !== undefined
    : Number(declared) > HARMLESS_BYTES;
}

/**
 * Ends the connection once the answer is out, with some patience: closing a connection on which data arrives resets it, and the client, still
 * sending, would not see the answer. What arrives meanwhile is thrown away. The answer should say `Connection: close`.
 */
export function closeAfterAnswer(request: IncomingMessage, time: ProcessTime): void {
  const { socket } = request;
  if (request.complete || lingering.has(request) || socket.destroyed) return;
  lingering.add(request);
  const endNow = socket.destroySoon.bind(socket);
  // The way that node:http ends a connection after its last answer.
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
  // An upload that breaks off now is nobody's error.
  request.on('error', () => undefined);
  request.resume();
}
