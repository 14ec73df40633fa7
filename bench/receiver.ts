/** The receiver of the benchmarks, a process of its own: answers every POST at once and notes who came, and how late. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hear, say, type Note } from './child.js';
import { DUE_HEADER } from './receiver-headers.js';

export interface Arrivals extends Note {
  readonly kind: 'arrived';
  readonly calls: number;
  /** Calls with different message ids. */
  readonly messages: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Arrival minus due time of every call that said when it was due, in milliseconds. */
  readonly lagsMs: readonly number[];
}

const CALIBRATION_MS = 20;

let offsetMs = 0;
let expected = Infinity;
let calls = 0;
let firstAtMs = 0;
let lastAtMs = 0;
let lagsMs: number[] = [];
let seen = new Set<string>();

/** The wall clock with fractions: it ticks in whole milliseconds, so the largest difference seen is the true one. */
function calibrate(): void {
  const untilMs = performance.now() + CALIBRATION_MS;
  offsetMs = 0;
  while (performance.now() < untilMs) offsetMs = Math.max(offsetMs, Date.now() - performance.now());
}

function reset(messages: number): void {
  calibrate();
  expected = messages;
  calls = 0;
  lagsMs = [];
  seen = new Set();
}

function arrive(messageId: string, due: string | undefined): void {
  const atMs = performance.now() + offsetMs;
  if (calls++ === 0) firstAtMs = atMs;
  lastAtMs = atMs;
  if (due !== undefined) lagsMs.push(atMs - dueTime(due));
  const before = seen.size;
  seen.add(messageId);
  if (before < expected && seen.size === expected) say(report());
}

/** Epoch milliseconds, or the ISO time of a schedule's occurrence. */
function dueTime(due: string): number {
  const atMs = Number(due);
  return Number.isNaN(atMs) ? Date.parse(due) : atMs;
}

function report(): Arrivals {
  return { kind: 'arrived', calls, messages: seen.size, firstAtMs, lastAtMs, lagsMs };
}

const server = createServer((request, response) => {
  const { headers } = request;
  arrive(
    String(headers['upstash-message-id']),
    (headers[DUE_HEADER] ?? headers['carillon-occurrence']) as string | undefined,
  );
  request.on('data', () => undefined);
  request.on('end', () => {
    response.writeHead(200, { 'content-length': 2 });
    response.end('ok');
  });
});
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', 2_048, () => {
  say({ kind: 'listening', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` });
});

hear((note) => {
  if (note.kind === 'expect') {
    reset(Number(note.messages));
    say({ kind: 'expecting' });
  } else if (note.kind === 'report') say(report());
  else if (note.kind === 'take') {
    say({ kind: 'taken', lagsMs });
    lagsMs = [];
  } else if (note.kind === 'list') say({ kind: 'listed', ids: [...seen], calls });
});
