/** Uploads over a bare socket: bodies that are large, slow, cut off or never end, and what is answered meanwhile. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface UploadTarget {
  readonly url: string;
  readonly path: string;
  /** Without one nobody is said to call. */
  readonly token?: string;
  readonly method?: string;
  /** Content-Length; without it the body is chunked. */
  readonly length?: number;
}

export interface UploadAnswer {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

export interface Upload {
  readonly socket: Socket;
  /** Sends more of the body and waits until the socket takes more; does nothing once the connection has ended. */
  send(bytes: Buffer | string): Promise<void>;
  /** Says that the body ends; for one that is chunked. */
  finish(): void;
  /** What was answered; status 0 when the connection ended without an answer. */
  readonly answer: Promise<UploadAnswer>;
  readonly closed: Promise<void>;
}

/** Sends the head of a request. */
export async function openUpload({ url, path, token, method = 'POST', length }: UploadTarget): Promise<Upload> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  let received = '';
  const answer = new Promise<UploadAnswer>((resolve) => {
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      const parsed = parseAnswer(received);
      if (parsed !== null) resolve(parsed);
    });
    socket.on('close', () => resolve({ status: 0, headers: '', body: received }));
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await once(socket, 'connect');
  const isChunked = length === undefined;
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: carillon',
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    isChunked ? 'transfer-encoding: chunked' : `content-length: ${length}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return {
    socket,
    answer,
    closed,
    send: async (bytes) => {
      if (socket.destroyed || socket.writableEnded) return;
      if (isChunked) socket.write(`${Buffer.byteLength(bytes).toString(16)}\r\n`);
      const isTaken = socket.write(bytes);
      if (isChunked) socket.write('\r\n');
      if (!isTaken) await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
    },
    finish: () => {
      if (!socket.destroyed && !socket.writableEnded) socket.write('0\r\n\r\n');
    },
  };
}

/** Sends a whole body in parts, until it is sent or the connection has ended. */
export async function upload(target: UploadTarget, body: Buffer, partBytes = 256 * 1_024): Promise<UploadAnswer> {
  const open = await openUpload(target);
  const state = { isAnswered: false };
  void open.answer.then(() => (state.isAnswered = true));
  for (let at = 0; at < body.length && !state.isAnswered; at += partBytes) {
    await open.send(body.subarray(at, at + partBytes));
  }
  if (!state.isAnswered && target.length === undefined) open.finish();
  const answer = await open.answer;
  open.socket.destroy();
  return answer;
}

function parseAnswer(text: string): UploadAnswer | null {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const headers = text.slice(0, end);
  const length = Number(/^content-length: (\d+)/im.exec(headers)?.[1]);
  const body = text.slice(end + 4);
  if (Buffer.byteLength(body) < length) return null;
  return { status: Number(headers.split(' ')[1]), headers, body };
}
