// A receiver that does everything wrong at random: every attempt still ends in time, the limit holds, nothing stays behind.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createHttpClient } from '../../../src/delivery/http-client.js';
import { processTime } from '../../../src/time/process-time.js';

const SEED = 20_260_309;
const ATTEMPTS = 700;
const TIMEOUT_MS = 1000;

type Fault = (socket: Socket) => unknown;
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const FAULTS: readonly Fault[] = [
  ...Array.from({ length: 12 }, (): Fault => (socket) => socket.write(OK)),
  (socket) => setTimeout(() => socket.write(OK), 20),
  (socket) => socket.resetAndDestroy(),
  (socket) => socket.end(),
  (socket) => socket.end(OK),
  (socket) => socket.write(OK, () => socket.resetAndDestroy()),
  (socket) => socket.write(`${OK}${OK}`),
  (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab', () => socket.end()),
  (socket) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\nzz'),
  (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(200_000)}`),
  (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n${'x'.repeat(9000)}`),
  (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
  (socket) => socket.write('HTTP/1.1 500 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'),
  () => undefined,
];

it('every attempt ends in time, no more connections than allowed are open, and in the end there are none', async () => {
  const choices = fc.sample(fc.nat(FAULTS.length - 1), { seed: SEED, numRuns: ATTEMPTS * 2 });
  let served = 0;
  let open = 0;
  const server = createServer((socket) => {
    open++;
    socket.on('close', () => open--);
    socket.on('error', () => undefined);
    socket.on('data', () => FAULTS[choices[served++ % choices.length] ?? 0]?.(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const client = createHttpClient({
    time: processTime,
    allowPrivate: true,
    connectionsPerOrigin: 40,
    keepAliveMs: 200,
    discardBytes: 16_384,
  });
  const kinds = new Map<string, number>();
  let slowestMs = 0;
  let started = 0;
  const worker = async (): Promise<void> => {
    while (started < ATTEMPTS) {
      const request = {
        url,
        method: 'POST',
        headers: {},
        body: Buffer.from(`body ${started++}`),
        timeoutMs: TIMEOUT_MS,
      };
      const result = await client.deliver(request);
      const kind = result.kind === 'response' ? String(result.status) : result.code;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      slowestMs = Math.max(slowestMs, result.durationMs);
      expect(client.counts.connections).toBeLessThanOrEqual(40);
    }
  };
  try {
    await Promise.all(Array.from({ length: 60 }, worker));
    expect(
      [...kinds.values()].reduce((sum, count) => sum + count),
      `seed ${SEED}`,
    ).toBe(ATTEMPTS);
    expect(kinds.get('200')).toBeGreaterThan(ATTEMPTS / 4);
    expect(kinds.get('TIMEOUT')).toBeGreaterThan(0);
    // Generous: the machine may be busy. A timer that was lost would show as no end at all.
    expect(slowestMs, `seed ${SEED}`).toBeLessThan(TIMEOUT_MS + 2000);
    await expect.poll(() => client.counts, { timeout: 5000 }).toEqual({ connections: 0, idle: 0, origins: 0 });
    await expect.poll(() => open, { timeout: 5000 }).toBe(0);
  } finally {
    await client.close();
    server.close();
  }
});
