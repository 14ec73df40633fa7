// Sends bytes over a socket and reads what comes back as HTTP, without a client that would correct either.

import { connect, type Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  /** By lower-case name; several of one name are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface Exchange {
  /** Final answers; a request that is broken may be read as several. */
  readonly answers: readonly Answer[];
  /** What was no HTTP. */
  readonly rest: Buffer;
  /** `answered`, or why no (whole) answer came. */
  readonly ending: 'answered' | 'closed' | 'late';
  readonly tookMs: number;
}

export interface Sending {
  readonly bytes: Buffer;
  readonly isHead: boolean;
  /** The server may wait for more: told after a moment that there is none, and the connection is not used again. */
  readonly isBroken: boolean;
}

/** How long a server may take to see that something is missing of a request before it is told that nothing follows. */
const MORE_TO_COME_MS = 120;

export class Connection {
  #socket: Socket | null = null;

  constructor(
    private readonly port: number,
    private readonly limitMs: number,
  ) {}

  async exchange(sending: Sending): Promise<Exchange> {
    const socket = sending.isBroken ? this.#fresh() : (this.#socket ?? this.#fresh());
    if (!sending.isBroken) this.#socket = socket;
    const exchange = await converse(socket, sending, this.limitMs);
    const mustEnd = exchange.answers.some(({ headers }) => /close/i.test(headers.get('connection') ?? ''));
    if (sending.isBroken || mustEnd || exchange.ending !== 'answered' || exchange.rest.length > 0) {
      socket.destroy();
      if (this.#socket === socket) this.#socket = null;
    }
    return exchange;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #fresh(): Socket {
    const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true });
    // Kept while it is idle as well; a connection that ended is told by the exchange that uses it.
    socket.on('error', () => undefined);
    return socket;
  }
}

function converse(socket: Socket, { bytes, isHead, isBroken }: Sending, limitMs: number): Promise<Exchange> {
  return new Promise((resolve) => {
    const startedAtMs = performance.now();
    let received = Buffer.alloc(0);
    const finish = (ending: Exchange['ending']): void => {
      clearTimeout(limit);
      clearTimeout(moreToCome);
      socket.off('data', onData).off('close', onClose);
      const { answers, rest } = readAnswers(received, isHead, ending === 'closed');
      const isAnswered = answers.length > 0 && (ending !== 'late' || isBroken);
      resolve({ answers, rest, ending: isAnswered ? 'answered' : ending, tookMs: performance.now() - startedAtMs });
    };
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const { answers } = readAnswers(received, isHead, false);
      if (answers.length === 0) return;
      if (isBroken) socket.end();
      else finish('answered');
    };
    const onClose = (): void => finish('closed');
    const limit = setTimeout(() => finish('late'), limitMs);
    const moreToCome = isBroken ? setTimeout(() => socket.end(), MORE_TO_COME_MS) : undefined;
    socket.on('data', onData).on('close', onClose);
    if (socket.destroyed) finish('closed');
    else socket.write(bytes);
  });
}

function readAnswers(received: Buffer, isHead: boolean, hasEnded: boolean): { answers: Answer[]; rest: Buffer } {
  const answers: Answer[] = [];
  let rest = received;
  for (;;) {
    const found = readAnswer(rest, isHead, hasEnded);
    if (found === null) return { answers, rest };
    rest = found.rest;
    // 100 Continue and the like are not the answer.
    if (found.answer.status >= 200 || found.answer.status === 101) answers.push(found.answer);
  }
}

function readAnswer(bytes: Buffer, isHead: boolean, hasEnded: boolean): { answer: Answer; rest: Buffer } | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine)?.[1]);
  if (!Number.isInteger(status)) return null;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers.set(name, headers.has(name) ? `${headers.get(name) ?? ''}, ${value}` : value);
  }
  const after = bytes.subarray(headEnd + 4);
  const found =
    isHead || status < 200 || status === 204 || status === 304
      ? { body: EMPTY, rest: after }
      : readBody(after, headers, hasEnded);
  return found === null ? null : { answer: { status, headers, body: found.body }, rest: found.rest };
}

const EMPTY = Buffer.alloc(0);

function readBody(
  bytes: Buffer,
  headers: ReadonlyMap<string, string>,
  hasEnded: boolean,
): { body: Buffer; rest: Buffer } | null {
  if (/chunked/i.test(headers.get('transfer-encoding') ?? '')) return readChunks(bytes);
  const length = headers.get('content-length');
  if (length === undefined) return hasEnded ? { body: bytes, rest: EMPTY } : null;
  const size = Number(length);
  return bytes.length < size ? null : { body: bytes.subarray(0, size), rest: bytes.subarray(size) };
}

function readChunks(bytes: Buffer): { body: Buffer; rest: Buffer } | null {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + 2;
    if (Number.isNaN(size) || bytes.length < start + size + 2) return null;
    if (size === 0) return { body: Buffer.concat(parts), rest: bytes.subarray(start + 2) };
    parts.push(bytes.subarray(start, start + size));
    at = start + size + 2;
  }
}
