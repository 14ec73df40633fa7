/**
 * A receiver in a process of its own, so that neither the test nor a node can starve it: it answers as the path says and keeps a
 * record of every call. Started by receiver.ts, which speaks to it over IPC.
 *
 * Paths: `hold` answers after so many milliseconds; `gate` names a gate, and while that gate is closed its calls wait;
 * `status` is the answer's status; `fails` is the number of attempts that are answered with `status` before the first 200.
 */
import { createServer } from 'node:http';

const CHUNK = 5_000;

/** Rows: [message id, retried, schedule id, occurrence, path, arrived, answered (0: never), status]. */
const calls = [];
/** Calls that have arrived and were neither answered nor cut off, by path. */
const open = new Map();
let closedGate = '';
/** Answers that wait for the gate. */
let waiting = [];

const server = createServer((request, response) => {
  const { headers, url } = request;
  const row = [
    headers['upstash-message-id'] ?? '',
    Number(headers['upstash-retried'] ?? -1),
    headers['upstash-schedule-id'] ?? '',
    headers['carillon-occurrence'] ?? '',
    url,
    Date.now(),
    0,
    0,
  ];
  calls.push(row);
  open.set(url, (open.get(url) ?? 0) + 1);
  response.on('finish', () => (row[6] = Date.now()));
  response.on('close', () => open.set(url, open.get(url) - 1));
  request.resume();
  request.on('end', () => receive(url, row, response));
});
server.keepAliveTimeout = 60_000;

function receive(url, row, response) {
  const { searchParams } = new URL(url, 'http://receiver');
  const failing = row[1] < Number(searchParams.get('fails') ?? Infinity);
  const status = failing ? Number(searchParams.get('status') ?? 200) : 200;
  const answer = () => {
    if (response.destroyed) return;
    row[7] = status;
    response.writeHead(status).end('ok');
  };
  const hold = Number(searchParams.get('hold') ?? 0);
  const gate = searchParams.get('gate');
  if (gate !== null && gate === closedGate) waiting.push(answer);
  else if (hold > 0) setTimeout(answer, hold);
  else answer();
}

const handlers = {
  /** Closes a gate ('' opens whatever is closed). */
  gate({ name }) {
    closedGate = name;
    const answers = waiting;
    waiting = [];
    for (const answer of answers) answer();
    return {};
  },
  counts: () => ({ calls: calls.length, open: Object.fromEntries([...open].filter(([, count]) => count > 0)) }),
  log: ({ from }) => ({ rows: calls.slice(from, from + CHUNK), total: calls.length }),
};

process.on('message', ({ id, what, given }) => process.send({ id, result: handlers[what](given) }));
process.on('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', 4_096, () => process.send({ id: 0, result: { port: server.address().port } }));
