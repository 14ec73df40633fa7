/** What a measurement needs to know of the machine: CPU time by process, what others used meanwhile, and a description. */
import { readFileSync, readdirSync } from 'node:fs';
import os from 'node:os';

/** Linux counts CPU time in hundredths of a second towards programs, whatever the kernel's own tick is. */
const TICKS_A_SECOND = 100;

interface ProcessTimes {
  readonly parentPid: number;
  /** Of the process itself, all threads. */
  readonly ownS: number;
  /** Of its children that have ended and were waited for. */
  readonly endedChildrenS: number;
}

/**
 * CPU seconds, user and system, that a process, its ended children and its live descendants have used so far: PostgreSQL has a
 * process for each connection, Redis one while it rewrites its log. Linux only.
 */
export function cpuSeconds(pid: number): number {
  const all = new Map<number, ProcessTimes>();
  for (const name of readdirSync('/proc')) {
    const times = /^\d+$/.test(name) ? readTimes(Number(name)) : null;
    if (times !== null) all.set(Number(name), times);
  }
  const sum = (member: number): number => {
    const times = all.get(member);
    if (times === undefined) return 0;
    const children = [...all].filter(([, { parentPid }]) => parentPid === member);
    return times.ownS + times.endedChildrenS + children.reduce((total, [child]) => total + sum(child), 0);
  };
  return sum(pid);
}

function readTimes(pid: number): ProcessTimes | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // The program's name comes in brackets and may hold anything: count the fields behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const seconds = (field: number): number => Number(fields[field]) / TICKS_A_SECOND;
  return { parentPid: Number(fields[1]), ownS: seconds(11) + seconds(12), endedChildrenS: seconds(13) + seconds(14) };
}

/** Memory of a process that is in use (resident), in bytes. Linux only. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) * 1_024;
}

/** CPU seconds that the whole machine was busy since it started. */
export function busySeconds(): number {
  const fields = readFileSync('/proc/stat', 'latin1').split('\n')[0]?.split(/\s+/).slice(1).map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = fields;
  return (user + nice + system + interrupts + softInterrupts + stolen) / TICKS_A_SECOND;
}

/** CPU seconds of this process. */
export function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Load average of the last minute. */
export function loadAverage(): number {
  return os.loadavg()[0] ?? 0;
}

export interface Machine {
  readonly system: string;
  readonly cores: number;
  readonly memoryGib: number;
}

/** What others need to compare figures, and nothing that tells whose machine it is. */
export function describeMachine(): Machine {
  return {
    system: `${os.type()} ${os.arch()}`,
    cores: os.availableParallelism(),
    memoryGib: Math.round(os.totalmem() / 2 ** 30),
  };
}
