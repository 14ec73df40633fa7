/** The receiver of crash tests: a process of its own whose record of calls is what nodes are judged by. */
import { setTimeout as delay } from 'node:timers/promises';
import { ChildChannel } from './child-channel.js';

/** One call as the receiver saw it; times by the machine's clock, which is Redis's as well. */
export interface ReceivedCall {
  /** `msg_…` */
  readonly messageId: string;
  readonly retried: number;
  readonly scheduleId: string | null;
  readonly occurrenceAtMs: number | null;
  readonly path: string;
  readonly arrivedAtMs: number;
  /** When the answer was handed to the operating system; null when the caller was gone before. */
  readonly answeredAtMs: number | null;
  readonly status: number | null;
}

/** Answers by path: `?hold=ms`, `?gate=name`, `?status=500`, `?status=500&fails=2`; see receiver-process.mjs. */
export interface Receiver {
  /** http://127.0.0.1:port */
  readonly url: string;
  /** From now on calls to `?gate=name` wait; those that wait for another gate are answered. '' closes none. */
  closeGate(name: string): Promise<void>;
  /** Calls so far, and those that are neither answered nor cut off. `path` counts only the open ones that begin with it. */
  counts(path?: string): Promise<{ calls: number; open: number }>;
  /** Resolves when at least so many calls to paths that begin so are open; rejects after `timeoutMs`, saying how many are. */
  waitForOpen(count: number, path: string, timeoutMs?: number): Promise<void>;
  calls(): Promise<ReceivedCall[]>;
  stop(): Promise<void>;
}

const PROGRAM = new URL('./receiver-process.mjs', import.meta.url);
const POLL_MS = 20;

type Row = [string, number, string, string, string, number, number, number];

export async function startReceiver(): Promise<Receiver> {
  const channel = new ChildChannel(PROGRAM);
  const { port } = (await channel.up) as { port: number };
  const counts = async (path = ''): Promise<{ calls: number; open: number }> => {
    const reply = (await channel.ask('counts')) as { calls: number; open: Record<string, number> };
    const matching = Object.entries(reply.open).filter(([of]) => of.startsWith(path));
    return { calls: reply.calls, open: matching.reduce((sum, [, open]) => sum + open, 0) };
  };
  return {
    url: `http://127.0.0.1:${port}`,
    closeGate: async (name) => {
      await channel.ask('gate', { name });
    },
    counts,
    waitForOpen: async (count, path, timeoutMs = 30_000) => {
      const deadlineMs = performance.now() + timeoutMs;
      for (;;) {
        const { open, calls } = await counts(path);
        if (open >= count) return;
        if (performance.now() > deadlineMs) {
          throw new Error(
            `waited ${timeoutMs} ms for ${count} open calls to ${path}, got ${open} (${calls} calls in all)`,
          );
        }
        await delay(POLL_MS);
      }
    },
    calls: async () => {
      const rows: Row[] = [];
      for (;;) {
        const reply = (await channel.ask('log', { from: rows.length })) as { rows: Row[]; total: number };
        rows.push(...reply.rows);
        if (rows.length >= reply.total) return rows.map(callOf);
      }
    },
    stop: () => channel.end(),
  };
}

function callOf([
  messageId,
  retried,
  scheduleId,
  occurrence,
  path,
  arrivedAtMs,
  answeredAtMs,
  status,
]: Row): ReceivedCall {
  return {
    messageId,
    retried,
    scheduleId: scheduleId === '' ? null : scheduleId,
    occurrenceAtMs: occurrence === '' ? null : Date.parse(occurrence),
    path,
    arrivedAtMs,
    answeredAtMs: answeredAtMs === 0 ? null : answeredAtMs,
    status: status === 0 ? null : status,
  };
}
