/** Runs one Carillon node as a child process: its log goes raw to a file and readable to the screen. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, renameSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { prettyFactory } from 'pino-pretty';
import { printable } from '../../src/domain/printable.js';
import { shardRanges } from '../../src/domain/shard-ranges.js';
import type { Account } from '../stores/postgres-account.js';
import { identify, type ProcessIdentity } from '../system/processes.js';
import type { Command } from '../system/server-process.js';
import { unprivileged } from '../system/unprivileged.js';

export interface NodeEnd {
  /** In words: "exit code 1", "signal SIGKILL". */
  readonly how: string;
  /** False when somebody ended it on purpose: it was killed, or asked to stop and did. */
  readonly byItself: boolean;
}

export interface NodeProcess {
  readonly identity: ProcessIdentity;
  /** How it ended, once it has and its last log line was written. */
  readonly ended: Promise<NodeEnd>;
  /** What it said last before it gave up, if it did. */
  lastWords(): string | undefined;
  /** Asks it to drain and go; kills it if it takes longer than `graceMs`, or when `hurry` settles. */
  stop(graceMs: number, hurry: Promise<void>): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../node.js', import.meta.url));
const LOG_ROTATE_BYTES = 64 * 2 ** 20;
const READY_POLL_MS = 50;

const FATAL = 60;
/** Signals that somebody sends to end a process; a crash has others (SIGABRT, SIGSEGV). */
const ENDED_ON_PURPOSE: ReadonlySet<NodeJS.Signals> = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGHUP']);

export interface NodeStart {
  readonly environment: NodeJS.ProcessEnv;
  /** File that its log is appended to. */
  readonly log: string;
  /** Stands before each of its lines on the screen. */
  readonly prefix: string;
  /** The node's program, with its arguments, as the user that it is to be. */
  readonly command: Command;
}

/**
 * What starts a node, with arguments of Node.js: as root, as the user of PostgreSQL, unless it is to listen on a port that only root may have. A line says where it keeps root.
 */
export function nodeCommand(
  account: Account | undefined,
  nodeArguments: readonly string[],
  say: (line: string) => void,
): Command {
  const command = { file: process.execPath, args: [...nodeArguments, MAIN] };
  return unprivileged('A node', account, command, [process.execPath, path.dirname(MAIN)], say);
}

/** Starts the node in a session of its own, so that Ctrl-C in the terminal does not reach it before we say so. */
export function startNode({ environment, log, prefix, command }: NodeStart): NodeProcess {
  rotate(log);
  const child = spawn(command.file, command.args, {
    ...(command.uid === undefined ? {} : { uid: command.uid }),
    ...(command.gid === undefined ? {} : { gid: command.gid }),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment,
  });
  let lastWords: string | undefined;
  const ended = follow(child, log, prefix, (text) => (lastWords = text));
  const pid = child.pid ?? -1;
  return {
    identity: identify(pid) ?? { pid, startedAt: 'ended' },
    ended,
    lastWords: () => lastWords,
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

/** Whether the node answers /readyz with 200; one that does not answer at all is not ready. */
export async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** Waits until the node answers /readyz with 200; false if `until` settles first. */
export async function untilReady(url: string, until: Promise<unknown>): Promise<boolean> {
  const progress = { over: false };
  const stop = until.then(() => {
    progress.over = true;
  });
  while (!progress.over) {
    if (await isReady(url)) return true;
    await Promise.race([delay(READY_POLL_MS), stop]);
  }
  return false;
}

function follow(child: ChildProcess, log: string, prefix: string, onFatal: (text: string) => void): Promise<NodeEnd> {
  const file = createWriteStream(log, { flags: 'a', mode: 0o600 });
  // A full disk must not end the cluster.
  file.on('error', (error) => process.stdout.write(`${log} cannot be written: ${error.message}\n`));
  const pretty = prettyFactory({
    colorize: process.stdout.isTTY,
    ignore: 'pid,hostname,node',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => {
      file.write(`${line}\n`);
      const entry = logEntry(line);
      process.stdout.write(prefix + (entry === undefined ? `${printable(line)}\n` : pretty(readable(entry))));
      const fatal = entry === undefined ? undefined : fatalText(entry);
      if (fatal !== undefined) onFatal(fatal);
    });
  }
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ how: error.message, byItself: true }));
    child.once('close', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
      file.end(() => resolve({ how, byItself: signal === null ? code !== 0 : !ENDED_ON_PURPOSE.has(signal) }));
    });
  });
}

interface LogEntry {
  readonly level?: unknown;
  readonly msg?: unknown;
  readonly shards?: unknown;
  readonly err?: { readonly message?: unknown };
}

/** What a line of a node's log says, as a terminal may be shown it; undefined if it is something else, such as a crash. */
function logEntry(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line, (_, value: unknown) => (typeof value === 'string' ? printable(value) : value)) as LogEntry;
  } catch {
    return undefined;
  }
}

/** For the screen: a hundred shards are a few runs. */
function readable(entry: LogEntry): LogEntry {
  return Array.isArray(entry.shards) ? { ...entry, shards: shardRanges(entry.shards as number[]) } : entry;
}

/** Why the node gives up, where this is what it says. */
function fatalText({ level, msg, err }: LogEntry): string | undefined {
  if (level !== FATAL || typeof msg !== 'string') return undefined;
  return typeof err?.message === 'string' ? `${msg}: ${err.message}` : msg;
}

function rotate(log: string): void {
  try {
    if (statSync(log).size > LOG_ROTATE_BYTES) renameSync(log, `${log}.1`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
