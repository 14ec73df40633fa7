/** Where the launcher takes requests of `npx carillon node start`: HTTP on this machine, by a token that cluster.json holds. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Control {
  readonly url: string;
  readonly token: string;
  close(): void;
}

/** A request that cannot be done: the text says why. */
export class ControlError extends Error {
  constructor(
    readonly status: 404 | 409 | 502,
    message: string,
  ) {
    super(message);
  }
}

/** Listens for `POST /nodes/{name}/start`; answers with what `startNode` gives, or `{"error": text}`. */
export async function serveControl(startNode: (name: string) => Promise<object>): Promise<Control> {
  const token = randomBytes(24).toString('hex');
  const server = createServer((request, response) => {
    void answer(request, response, token, startNode);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    token,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  token: string,
  startNode: (name: string) => Promise<object>,
): Promise<void> {
  const send = (status: number, body: object): void => {
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(body));
  };
  request.resume();
  if (!isToken(request.headers.authorization ?? '', `Bearer ${token}`)) {
    send(401, { error: 'the token is not the one in cluster.json' });
    return;
  }
  const name = /^\/nodes\/([^/?]+)\/start$/.exec(request.url ?? '')?.[1];
  if (request.method !== 'POST' || name === undefined) {
    send(404, { error: `the launcher knows no ${request.method} ${request.url}` });
    return;
  }
  try {
    send(200, await startNode(name));
  } catch (error) {
    send(error instanceof ControlError ? error.status : 500, { error: (error as Error).message });
  }
}

function isToken(given: string, expected: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(expected));
}
