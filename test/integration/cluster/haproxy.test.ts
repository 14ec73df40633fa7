/** The load balancer before the nodes: who gets a request, what of it arrives, and that nothing is sent twice. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { startHaproxy } from '../../../cluster/haproxy/haproxy.js';
import type { LocalStore } from '../../../cluster/system/server-process.js';
import { identify } from '../../../cluster/system/processes.js';
import { stablePort } from '../../kit/stable-port.js';

interface Received {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** Stands in for a node: answers /readyz as it is told to, says /who it is, and keeps everything else it gets. */
class StandIn {
  readonly received: Received[] = [];
  isReady = true;
  respond: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => void response.end(this.name);
  #server: Server;

  constructor(
    readonly name: string,
    readonly port: number,
  ) {
    this.#server = this.#make();
  }

  #make(): Server {
    const server = createServer({ maxHeaderSize: 128 * 1_024 }, (request, response) => {
      if (request.url === '/readyz') {
        response.writeHead(this.isReady ? 200 : 503).end();
        return;
      }
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method = '', url = '', rawHeaders } = request;
        if (url !== '/who') this.received.push({ method, target: url, rawHeaders, body: Buffer.concat(parts) });
        this.respond(request, response);
      });
    });
    server.on('upgrade', (_request, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
          'Sec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n\r\n',
      );
      socket.pipe(socket);
    });
    return server;
  }

  async start(): Promise<void> {
    this.#server = this.#make();
    await new Promise<void>((resolve) => this.#server.listen(this.port, '127.0.0.1', resolve));
  }

  /** As a kill -9 ends a process: every connection breaks, nobody listens. */
  async kill(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }
}

let one: StandIn;
let two: StandIn;
let haproxy: LocalStore;

beforeAll(async () => {
  [one, two] = [new StandIn('one', await stablePort()), new StandIn('two', await stablePort())];
  await Promise.all([one.start(), two.start()]);
  haproxy = await startHaproxy({ dir: folder('shared'), port: await stablePort(), nodes: [one, two] });
});
afterEach(async () => {
  for (const node of [one, two]) {
    node.received.length = 0;
    node.isReady = true;
    node.respond = (_, response) => void response.end(node.name);
  }
  await bothAnswer();
});
afterAll(async () => {
  await haproxy.stop();
  await Promise.all([one.kill(), two.kill()]);
});

function folder(name: string): string {
  return path.join(inject('runDir'), `haproxy-${name}`);
}

const ask = async (target = '/who', init: RequestInit = {}): Promise<string> =>
  await (await fetch(`${haproxy.url}${target}`, init)).text();

/** Who answers `count` requests, each name once, in order. */
async function whoAnswers(count = 8): Promise<string[]> {
  const names = await Promise.all(Array.from({ length: count }, () => ask()));
  return [...new Set(names)].sort();
}

async function bothAnswer(): Promise<void> {
  await expect.poll(() => whoAnswers(), { timeout: 5_000, interval: 50 }).toEqual(['one', 'two']);
}

/** Sends bytes as they are and gives what comes back until the other side closes. */
function raw(text: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(haproxy.port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (part: Buffer) => (answer += part.toString('latin1')));
    socket.once('error', reject);
    socket.once('close', () => resolve(answer));
  });
}

const all = (): Received[] => [...one.received, ...two.received];

describe('a request', () => {
  it.each([
    '/v2/publish/https://example.com/a/../b//c/./d?x=1&x=%31&y=%c3%A9#rest',
    '/v2/publish/https%3A%2F%2Fexample.com%2fhook%3Fa=b',
    '/v2/publish/https://example.com/"<>^`{|}\\~',
    '//v2//publish//http://example.com',
  ])('arrives with its target unchanged: %s', async (target) => {
    await raw(
      Buffer.from(`POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok`, 'latin1'),
    );
    expect(all().map((request) => [request.method, request.target, request.body.toString()])).toEqual([
      ['POST', target, 'ok'],
    ]);
  });

  it('brings the address of its caller in X-Forwarded-For, whatever the caller claims', async () => {
    await ask('/x', { headers: { 'X-Forwarded-For': '10.9.8.7' } });
    const { rawHeaders } = all()[0]!;
    const values = rawHeaders.filter((_, at) => at % 2 === 1 && /^x-forwarded-for$/i.test(rawHeaders[at - 1]!));
    expect(values).toEqual(['127.0.0.1']);
  });

  it('may have 60 KiB of headers, a thousand of them, and 32 MiB of body', async () => {
    const headers = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, at) => [`upstash-forward-n${at}`, 'v'.repeat(35)]),
    );
    const body = Buffer.alloc(32 * 2 ** 20, 'abcdefg');
    expect(await ask('/big', { method: 'POST', headers, body })).toMatch(/^(one|two)$/);
    const [received] = all();
    expect(received!.body.equals(body)).toBe(true);
    expect(received!.rawHeaders.filter((name) => name.startsWith('upstash-forward-n'))).toHaveLength(1_000);
  });

  it('may become a websocket', async () => {
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(haproxy.port, '127.0.0.1', () => {
        socket.write(
          'GET /socket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
            'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
        );
      });
      socket.on('data', (part: Buffer) => {
        text += part.toString();
        if (text.endsWith('\r\n\r\n')) socket.write('ping');
        if (text.endsWith('ping')) socket.destroy();
      });
      socket.once('close', () => resolve(text));
    });
    expect(answer).toMatch(/^HTTP\/1.1 101 [^]*ping$/);
  });
});

describe('an address that opens many connections and says nothing', () => {
  const PER_ADDRESS = 1_000;

  it('gets a quarter of them, and shuts nobody else out', async () => {
    const from = { host: '127.0.0.1', port: haproxy.port, localAddress: '127.0.0.2' };
    const opened = await Promise.all(
      Array.from({ length: PER_ADDRESS + 50 }, () => {
        const socket = connect(from);
        socket.on('error', () => undefined);
        return new Promise<Socket>((resolve) => {
          for (const event of ['connect', 'close']) socket.once(event, () => resolve(socket));
        });
      }),
    );
    try {
      const closed = (): number => opened.filter(({ closed: isClosed }) => isClosed).length;
      // Bytes say that a connection is still wanted, and find out whether it is.
      opened.forEach((socket) => socket.write('GET / HTTP/1.1\r\n'));
      opened.forEach((socket) => socket.resume());
      await expect.poll(closed, { timeout: 5_000 }).toBeGreaterThanOrEqual(50);
      expect(closed()).toBeLessThan(100);
      expect(await ask()).toMatch(/^(?:one|two)$/);
    } finally {
      for (const socket of opened) socket.destroy();
    }
  });
});

describe('the nodes', () => {
  it('share the requests', async () => {
    expect(await whoAnswers()).toEqual(['one', 'two']);
  });

  it('get nothing more soon after they are not ready, while every request is answered', async () => {
    one.isReady = false;
    await expect.poll(() => whoAnswers(), { timeout: 1_000, interval: 20 }).toEqual(['two']);
    one.isReady = true;
    await bothAnswer();
  });

  it('may die: what could not be sent to one goes to the other, from the first request on', async () => {
    await one.kill();
    for (let round = 0; round < 20; round++) expect(await whoAnswers(4)).toEqual(['two']);
    await one.start();
    await bothAnswer();
  });

  it('that die with a request in their hands leave it to the caller, and nobody else gets it', async () => {
    for (const node of [one, two]) node.respond = (request) => void request.socket.destroy();
    for (let round = 0; round < 10; round++) {
      // A caller's later requests on one connection end as it would end without us: it is closed.
      const headers = round % 2 === 0 ? { connection: 'close' } : {};
      const answer = await fetch(`${haproxy.url}/v2/publish/x${round}`, { method: 'POST', body: 'once', headers }).then(
        async (response) => `${response.status} ${await response.text()}`,
        () => 'closed',
      );
      expect(answer).toMatch(/^(502 .*may or may not have been done.*|closed)$/);
    }
    const targets = all().map(({ target }) => target);
    expect(new Set(targets).size).toBe(targets.length);
    expect(targets).toHaveLength(10);
  });

  it('that are all away are told about as the API tells its faults', async () => {
    for (const node of [one, two]) node.isReady = false;
    await expect.poll(async () => (await fetch(`${haproxy.url}/x`)).status, { timeout: 2_000 }).toBe(503);
    const response = await fetch(`${haproxy.url}/x`);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ error: 'no node is ready: try again in a moment' });
  });
});

describe('HAProxy itself', () => {
  it('starts only where nobody else listens, and says so', async () => {
    const second = startHaproxy({ dir: folder('second'), port: haproxy.port, nodes: [one] });
    await expect(second).rejects.toThrow(/did not start on port [^]*Address already in use/i);
    expect(await ask()).toMatch(/^(one|two)$/);
  });

  it('that an earlier run left behind is stopped before the new one starts', async () => {
    const options = { dir: folder('left'), port: await stablePort(), nodes: [one] };
    const left = await startHaproxy(options);
    const again = await startHaproxy(options);
    await left.gone;
    expect(identify(left.pid)).toBeUndefined();
    expect(await (await fetch(`${again.url}/who`)).text()).toBe('one');
    await again.stop();
    await again.gone;
  });

  it('lets a request under way end when it is stopped', async () => {
    const last = await startHaproxy({ dir: folder('last'), port: await stablePort(), nodes: [one] });
    let finish = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      one.respond = ({ url }, response) => {
        if (url !== '/slow') return void response.end();
        finish = () => response.end('late');
        resolve();
      };
    });
    await expect.poll(async () => (await fetch(`${last.url}/readyz`)).status).toBe(200);
    const answer = fetch(`${last.url}/slow`).then((response) => response.text());
    await arrived;
    const stopped = last.stop();
    await expect.poll(() => fetch(`${last.url}/new`).then(String, () => 'refused')).toBe('refused');
    finish();
    expect(await answer).toBe('late');
    await stopped;
  });
});
