/** Starts a store's server program apart from the terminal and follows it until it is gone. */
import { spawn, type SpawnOptionsWithoutStdio } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { writePrivate } from './private-file.js';
import { identify, isRunning, untilGone, type ProcessIdentity } from './processes.js';

/** A store that runs on this machine for us. */
export interface LocalStore {
  /** Connection URL, password included. */
  readonly url: string;
  readonly pid: number;
  readonly port: number;
  /** True if it was still running from an earlier run and was taken over. */
  readonly adopted: boolean;
  /** Settles when the process is gone, whoever ended it. */
  readonly gone: Promise<void>;
  /** Stops it with its data safe on disk; may be called more than once. */
  stop(): Promise<void>;
}

/** How to start a program; `uid` and `gid` when it must not run as the user we are. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** The name the program sees itself called by, when that decides what it does. */
  readonly argv0?: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** A started server: who it is, when it ends, and what it logged since. */
export interface ServerProcess {
  readonly identity: ProcessIdentity;
  readonly gone: Promise<void>;
  logged(): string;
}

const LOG_TAIL_BYTES = 8192;
const ADOPTED_POLL_MS = 500;

/**
 * Spawns the program in a session of its own, so that Ctrl-C in the terminal reaches us and not the store.
 * What it prints is appended to `log`.
 */
export async function spawnServer(command: Command, log: string): Promise<ServerProcess> {
  const descriptor = openSync(log, 'a', 0o600);
  try {
    const offset = fstatSync(descriptor).size;
    const child = spawn(command.file, command.args, {
      ...spawnOptions(command),
      stdio: ['ignore', descriptor, descriptor],
    });
    const gone = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', resolve);
    });
    child.unref();
    const pid = child.pid ?? -1;
    return {
      // A program that has already ended gets an identity that matches no live process.
      identity: identify(pid) ?? { pid, startedAt: 'ended' },
      gone,
      logged: () => logTail(log, offset),
    };
  } finally {
    closeSync(descriptor);
  }
}

/** Runs a program to its end, likewise apart from the terminal; throws with what it printed if it fails. */
export async function runToEnd(command: Command): Promise<void> {
  const child = spawn(command.file, command.args, { ...spawnOptions(command), stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  const keep = (bytes: Buffer): void => {
    printed = (printed + bytes.toString('utf8')).slice(-LOG_TAIL_BYTES);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const ended = await new Promise<string | number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, name) => resolve(name ?? code));
  });
  if (ended !== 0) throw new Error(`${path.basename(command.file)} ended with ${ended}:\n${printed}`);
}

function spawnOptions(command: Command): SpawnOptionsWithoutStdio {
  return {
    detached: true,
    ...(command.argv0 === undefined ? {} : { argv0: command.argv0 }),
    ...(command.uid === undefined ? {} : { uid: command.uid }),
    ...(command.gid === undefined ? {} : { gid: command.gid }),
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    ...(command.env === undefined ? {} : { env: command.env }),
  };
}

/** Notes in a store's folder which process serves it, for the next start and for whoever cleans up. */
export function recordProcess(dataDir: string, identity: ProcessIdentity): void {
  writePrivate(path.join(dataDir, 'process.json'), `${JSON.stringify(identity)}\n`);
}

/** The process last noted in a store's folder, alive or not. */
export function recordedProcess(dataDir: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(path.join(dataDir, 'process.json'), 'utf8')) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

/** Settles when a process that is not our child is gone. */
export async function untilAdoptedGone(identity: ProcessIdentity): Promise<void> {
  while (isRunning(identity)) await delay(ADOPTED_POLL_MS, undefined, { ref: false });
}

/** Sends each signal in turn, giving the process its time after each; throws if it outlives the last. */
export async function endProcess(
  what: string,
  identity: ProcessIdentity,
  steps: readonly { signal: NodeJS.Signals; waitMs: number }[],
): Promise<void> {
  for (const step of steps) {
    if (!isRunning(identity)) return;
    try {
      process.kill(identity.pid, step.signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
    if (await untilGone(identity, step.waitMs)) return;
  }
  throw new Error(`${what} (process ${identity.pid}) did not stop`);
}

/** What was written to a log behind `offset`, its last few kilobytes. */
function logTail(log: string, offset: number): string {
  const descriptor = openSync(log, 'r');
  try {
    const size = fstatSync(descriptor).size;
    const from = Math.max(offset, size - LOG_TAIL_BYTES);
    const bytes = Buffer.alloc(Math.max(0, size - from));
    readSync(descriptor, bytes, 0, bytes.length, from);
    return bytes.toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}
