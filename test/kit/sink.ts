/** A receiver that records every call it gets, and answers as it is told. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Call {
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Upstash-Message-Id. */
  readonly messageId: string;
  /** Upstash-Retried. */
  readonly retried: number;
  readonly scheduleId: string | undefined;
  /** Carillon-Occurrence. */
  readonly occurrence: string | undefined;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** What to answer; a promise holds the answer back until it resolves. */
export type Answering = (call: Call) => Answer | Promise<Answer>;

export interface Sink {
  /** http://127.0.0.1:port, or the host that it was started for. */
  readonly url: string;
  readonly calls: readonly Call[];
  /** From now on. */
  answer(answering: Answering): void;
  /** Resolves when so many calls that fit have come, with those; rejects after `timeoutMs`, saying what had come. */
  waitFor(count: number, fits?: (call: Call) => boolean, timeoutMs?: number): Promise<Call[]>;
  close(): Promise<void>;
}

/** `host`: an address of this machine. Each of 127.0.0.0/8 is a host of its own. */
export async function startSink(host = '127.0.0.1'): Promise<Sink> {
  const calls: Call[] = [];
  const watchers = new Set<() => void>();
  let answering: Answering = () => ({});
  const server = createServer((request, response) => {
    void receive(request, response).catch(() => response.destroy());
  });

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const call = callOf(request, Buffer.concat(chunks));
    calls.push(call);
    for (const watch of watchers) watch();
    const { status = 200, headers = {}, body = 'ok' } = await answering(call);
    response.writeHead(status, headers).end(body);
  }

  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    calls,
    answer: (next) => (answering = next),
    waitFor: (count, fits = () => true, timeoutMs = 20_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          watchers.delete(check);
          reject(
            new Error(`waited ${timeoutMs} ms for ${count} calls, got ${calls.filter(fits).length} of ${calls.length}`),
          );
        }, timeoutMs);
        const check = (): void => {
          const fitting = calls.filter(fits);
          if (fitting.length < count) return;
          clearTimeout(timer);
          watchers.delete(check);
          resolve(fitting);
        };
        watchers.add(check);
        check();
      }),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function callOf(request: IncomingMessage, body: Buffer): Call {
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
  return {
    atMs: Date.now(),
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    body,
    messageId: header('upstash-message-id') ?? '',
    retried: Number(header('upstash-retried') ?? -1),
    scheduleId: header('upstash-schedule-id'),
    occurrence: header('carillon-occurrence'),
  };
}
