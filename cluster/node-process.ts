/** Runs one Carillon node as a child process: its log goes raw to a file and readable to the screen. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, renameSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { prettyFactory } from 'pino-pretty';
import { identify, type ProcessIdentity } from './processes.js';

export interface NodeProcess {
  readonly identity: ProcessIdentity;
  /** How it ended, in words, once it has and its last log line was written. */
  readonly ended: Promise<string>;
  /** Asks it to drain and go; kills it if it takes longer than `graceMs`, or when `hurry` settles. */
  stop(graceMs: number, hurry: Promise<void>): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url));
const LOG_ROTATE_BYTES = 64 * 2 ** 20;
const READY_POLL_MS = 50;

/** Starts the node in a session of its own, so that Ctrl-C in the terminal does not reach it before we say so. */
export function startNode(environment: NodeJS.ProcessEnv, log: string): NodeProcess {
  rotate(log);
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment,
  });
  const ended = follow(child, log);
  const pid = child.pid ?? -1;
  return {
    identity: identify(pid) ?? { pid, startedAt: 'ended' },
    ended,
    stop: async (graceMs, hurry) => {
      child.kill('SIGTERM');
      const late = new AbortController();
      const impatient = Promise.race([
        hurry,
        delay(graceMs, undefined, { signal: late.signal }).catch(() => undefined),
      ]);
      await Promise.race([ended, impatient.then(() => child.kill('SIGKILL'))]);
      await ended;
      late.abort();
    },
  };
}

/** Waits until the node answers /readyz with 200; false if `until` settles first. */
export async function untilReady(url: string, until: Promise<unknown>): Promise<boolean> {
  const progress = { over: false };
  const stop = until.then(() => {
    progress.over = true;
  });
  while (!progress.over) {
    try {
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
      await response.arrayBuffer();
      if (response.status === 200) return true;
    } catch {
      // Not listening yet.
    }
    await Promise.race([delay(READY_POLL_MS), stop]);
  }
  return false;
}

function follow(child: ChildProcess, log: string): Promise<string> {
  const file = createWriteStream(log, { flags: 'a', mode: 0o600 });
  const pretty = prettyFactory({
    colorize: process.stdout.isTTY,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => {
      file.write(`${line}\n`);
      process.stdout.write(readable(pretty, line));
    });
  }
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      file.end(() => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
    });
  });
}

function readable(pretty: (line: string) => string, line: string): string {
  return line.startsWith('{') ? pretty(line) : `${line}\n`;
}

function rotate(log: string): void {
  try {
    if (statSync(log).size > LOG_ROTATE_BYTES) renameSync(log, `${log}.1`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
