/**
 * The watchers of the benchmarks, a process of their own: admin websockets that read the snapshot and every delta. Of each message they read
 * what it is and its number, as little as can be, since they run on the cores of the node that they watch.
 */
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { adminBearer } from './carillon-node.js';
import { hear, say, startOptions, type Note } from './child.js';

export interface Watched extends Note {
  readonly kind: 'ended';
  readonly durationMs: number;
  /** Of all sockets, as they came over the wire. */
  readonly bytes: number;
  readonly deltas: number;
  /** Deltas that were not the next one, messages that were none of ours, and sockets that were closed. */
  readonly problems: number;
}

const options = startOptions() as { readonly url: string; readonly sockets: number };
/** `{"type":"delta","seq":17,…`; the snapshot's number stands behind its protocol's. */
const HEAD = /^\{"type":"(snapshot|delta)",(?:"protocol":\d+,)?"seq":(\d+),/;
const HEAD_BYTES = 80;

let deltas = 0;
let problems = 0;
const connections: Socket[] = [];
let from = { atMs: 0, bytes: 0, deltas: 0 };

/** Resolves when the snapshot is there. */
async function watch(): Promise<void> {
  const socket = new WebSocket(`${options.url.replace(/^http/, 'ws')}/admin/ws`, { headers: adminBearer() });
  let seq = 0;
  socket.on('upgrade', (response) => connections.push(response.socket));
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => {
      problems += 1;
      reject(new Error('a watcher was closed'));
    });
    socket.on('message', (data: Buffer) => {
      const head = HEAD.exec(data.toString('latin1', 0, HEAD_BYTES));
      const next = Number(head?.[2]);
      if (head?.[1] === 'delta') {
        deltas += 1;
        if (next !== seq + 1) problems += 1;
      } else if (head?.[1] === 'snapshot') resolve();
      else problems += 1;
      seq = next;
    });
  });
}

function reading(): typeof from {
  return { atMs: performance.now(), bytes: connections.reduce((sum, { bytesRead }) => sum + bytesRead, 0), deltas };
}

hear((note) => {
  if (note.kind === 'begin') {
    from = reading();
    say({ kind: 'begun' });
  } else if (note.kind === 'end') {
    const to = reading();
    const ended: Watched = {
      kind: 'ended',
      durationMs: to.atMs - from.atMs,
      bytes: to.bytes - from.bytes,
      deltas: to.deltas - from.deltas,
      problems,
    };
    say(ended);
  }
});
await Promise.all(Array.from({ length: options.sockets }, watch));
say({ kind: 'watching' });
