/**
 * The receiver of a chaos run, a process of its own: it answers as the path says and keeps a record of every call.
 *
 * Paths: `hold` answers after so many milliseconds; `fails` is the number of attempts that are answered with 500 before the first 200.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { answerParent } from '../../test/kit/child-channel.js';
import type { Call } from './evidence.js';
import { ownerOfSocket } from './socket-owner.js';

const CHUNK = 5_000;

type Row = { -readonly [Name in keyof Omit<Call, 'pid'>]: Call[Name] };

const calls: { readonly row: Row; readonly socket: Socket }[] = [];
/** Which process each connection comes from, as soon as it is known. */
const owners = new WeakMap<Socket, number | null>();
let pids: number[] = [];
let open = 0;

const server = createServer((request, response) => {
  const row = rowOf(request);
  calls.push({ row, socket: request.socket });
  open += 1;
  response.on('finish', () => (row.answeredAtMs = Date.now()));
  response.on('close', () => (open -= 1));
  request.resume();
  request.on('end', () => receive(row, response));
});
server.keepAliveTimeout = 60_000;
server.on('connection', (socket) => {
  const { remotePort, localPort } = socket;
  if (remotePort === undefined || localPort === undefined) return;
  void ownerOfSocket(remotePort, localPort, pids).then((pid) => owners.set(socket, pid));
});

function rowOf({ headers, url = '' }: IncomingMessage): Row {
  const text = (name: string): string | null => {
    const value = headers[name];
    return typeof value === 'string' ? value : null;
  };
  const occurrence = text('carillon-occurrence');
  return {
    messageId: text('upstash-message-id') ?? '',
    retried: Number(text('upstash-retried') ?? -1),
    scheduleId: text('upstash-schedule-id'),
    occurrenceAtMs: occurrence === null ? null : Date.parse(occurrence),
    path: url,
    arrivedAtMs: Date.now(),
    answeredAtMs: null,
    status: null,
  };
}

function receive(row: Row, response: ServerResponse): void {
  const { searchParams } = new URL(row.path, 'http://receiver');
  const status = row.retried < Number(searchParams.get('fails') ?? 0) ? 500 : 200;
  const answer = (): void => {
    if (response.destroyed) return;
    row.status = status;
    response.writeHead(status).end('ok');
  };
  const holdMs = Number(searchParams.get('hold') ?? 0);
  if (holdMs > 0) setTimeout(answer, holdMs);
  else answer();
}

const up = answerParent({
  /** The processes that connections may come from. */
  pids: (given: { pids: number[] }) => {
    pids = given.pids;
  },
  counts: () => ({ calls: calls.length, open }),
  log: ({ from }: { from: number }) => ({
    rows: calls.slice(from, from + CHUNK).map(({ row, socket }): Call => ({ ...row, pid: owners.get(socket) ?? null })),
    total: calls.length,
  }),
});
server.listen(0, '127.0.0.1', 4_096, () => up({ port: (server.address() as AddressInfo).port }));
