/** Knows operating system processes well enough to stop ours, and never one that merely got our old process number. */
import { readFileSync, readdirSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

/** A process number together with the moment the kernel started it: numbers are reused, the pair is not. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
}

interface KernelRecord {
  readonly parentPid: number;
  readonly zombie: boolean;
  readonly startedAt: string;
}

const POLL_MS = 20;

/** The identity of a live process; undefined if there is none, or only the remains of one. */
export function identify(pid: number): ProcessIdentity | undefined {
  const record = process.platform === 'linux' ? readLinux(pid) : readWithPs(pid);
  return record === undefined || record.zombie ? undefined : { pid, startedAt: record.startedAt };
}

/** True while exactly this process, not a successor with its number, is alive. */
export function isRunning(identity: ProcessIdentity): boolean {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/** Waits until the process is gone; false if it still runs after `timeoutMs`. */
export async function untilGone(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isRunning(identity)) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

/** Sends a signal to exactly this process; does nothing if it is gone. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The process numbers of the direct children. */
export function childrenOf(pid: number): number[] {
  if (process.platform !== 'linux') {
    return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => readLinux(child)?.parentPid === pid);
}

function readLinux(pid: number): KernelRecord | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The second field is the program's name in brackets and may hold spaces and brackets itself: count after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return undefined;
  return {
    parentPid: Number(fields[1]),
    // A dead first thread is not the end: files and ports are let go of with the last one.
    zombie: state === 'X' || (state === 'Z' && Number(fields[17]) <= 1),
    startedAt: `${bootId()}:${startTicks}`,
  };
}

let knownBootId: string | undefined;

function bootId(): string {
  try {
    knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    knownBootId = 'boot';
  }
  return knownBootId;
}

function readWithPs(pid: number): KernelRecord | undefined {
  let line: string;
  try {
    line = execFileSync('ps', ['-o', 'ppid=,state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
  const [parentPid, state, ...started] = line.split(/\s+/);
  if (parentPid === undefined || state === undefined) return undefined;
  return { parentPid: Number(parentPid), zombie: state.startsWith('Z'), startedAt: started.join(' ') };
}
