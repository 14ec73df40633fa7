/**
 * A process that uploads nonsense to nodes, so many bodies at once, until it is told to stop: each kind in turn, to one node after the other.
 * Bodies are made once; half of the uploads say no length, and some trickle.
 */
import { hear, say, startOptions, type Note } from './child.js';
import { sleep } from './harness.js';
import { NONSENSE } from './nonsense.js';
import { openUpload, upload, type UploadAnswer, type UploadTarget } from './raw-upload.js';

export interface UploaderOptions {
  readonly urls: readonly string[];
  /** Of the tenants that upload. */
  readonly tokens: readonly string[];
  readonly parallel: number;
}

/** How often uploads of a kind were answered with a status; 0 is a connection that ended without an answer. */
export interface UploadCount {
  readonly kind: string;
  readonly status: number;
  readonly count: number;
}

export interface Uploaded extends Note {
  readonly kind: 'uploaded';
  readonly counts: readonly UploadCount[];
}

const PATHS = ['/v2/batch', '/v2/schedules/batch'];
const TRICKLE_EVERY_MS = 200;
/** Before a refused upload is followed by the next. */
const PAUSE_MS = 50;

const { urls, tokens, parallel } = startOptions() as UploaderOptions;
const bodies = NONSENSE.map(([name, make]) => ({ name, bytes: make() }));
const counts = new Map<string, UploadCount>();
const run = { isStopping: false };
const isStopping = (): boolean => run.isStopping;

function note(kind: string, status: number): void {
  const key = `${kind} ${status}`;
  counts.set(key, { kind, status, count: (counts.get(key)?.count ?? 0) + 1 });
}

/** A body that comes a byte at a time, until the node has had enough of it. */
async function trickle(target: UploadTarget): Promise<UploadAnswer> {
  const open = await openUpload(target);
  const state = { isAnswered: false };
  void open.answer.then(() => (state.isAnswered = true));
  await open.send('[');
  while (!state.isAnswered && !isStopping()) {
    await open.send(' ');
    await Promise.race([open.answer, sleep(TRICKLE_EVERY_MS)]);
  }
  open.socket.destroy();
  return await open.answer;
}

/** The kinds in turn; each worker begins elsewhere, so that all kinds are under way at once. */
async function work(worker: number): Promise<void> {
  const token = tokens[worker % tokens.length] ?? '';
  for (let turn = worker; !isStopping(); turn++) {
    const target = { url: urls[turn % urls.length] ?? '', path: PATHS[turn % PATHS.length] ?? '', token };
    const body = bodies[turn % (bodies.length + 1)];
    try {
      if (body === undefined) {
        const { status } = await trickle(target);
        if (!isStopping()) note('a byte at a time', status);
      } else {
        const isChunked = (worker + turn) % 4 < 2;
        const length = isChunked ? {} : { length: body.bytes.length };
        note(body.name, (await upload({ ...target, ...length }, body.bytes)).status);
      }
    } catch {
      // Refused before anything was sent: the node is gone, which the benchmark sees by itself.
      note(body?.name ?? 'a byte at a time', 0);
    }
    await sleep(PAUSE_MS);
  }
}

let all: Promise<unknown> = Promise.resolve();
hear(({ kind }) => {
  if (kind === 'start') {
    all = Promise.all(Array.from({ length: parallel }, (_, worker) => work(worker)));
  } else if (kind === 'stop') {
    run.isStopping = true;
    void all.then(() => say({ kind: 'uploaded', counts: [...counts.values()] }));
  }
});
say({ kind: 'prepared' });
