/** Reads the CPU time of everybody who takes part, and of everybody else on the machine. */
import { now, type Harness } from './harness.js';
import { rounded } from './figures.js';
import { busySeconds, cpuSeconds, ownCpuSeconds } from './machine.js';

/** CPU seconds of those that count. */
export interface Cpu {
  readonly node: number;
  readonly redis: number;
  readonly postgres: number;
}

export interface Used extends Cpu {
  readonly receiver: number;
  /** This process: whoever publishes, where it is not a process of its own. */
  readonly own: number;
  /** The process that publishes. */
  readonly client: number;
  /** Cores that other programs kept busy. */
  readonly otherCores: number;
}

interface Reading extends Omit<Used, 'otherCores'> {
  readonly busy: number;
  readonly atMs: number;
}

export class Meter {
  #from: Reading;

  /** `pids` are the contender's nodes or workers, `clientPid` whoever publishes in a process of its own. Counts from now on. */
  constructor(
    private readonly harness: Harness,
    private readonly pids: number | readonly number[],
    private readonly clientPid: number | null = null,
  ) {
    this.#from = this.#read();
  }

  /** Counts from now on. */
  restart(): void {
    this.#from = this.#read();
  }

  /** What was used since. */
  used(): Used {
    const from = this.#from;
    const to = this.#read();
    const cpu = {
      node: to.node - from.node,
      redis: to.redis - from.redis,
      postgres: to.postgres - from.postgres,
      receiver: to.receiver - from.receiver,
      own: to.own - from.own,
      client: to.client - from.client,
    };
    const twice = this.clientPid === this.pids ? cpu.client : 0;
    const ours = Object.values(cpu).reduce((sum, seconds) => sum + seconds, -twice);
    const otherCores = Math.max(0, to.busy - from.busy - ours) / ((to.atMs - from.atMs) / 1_000);
    return { ...cpu, otherCores: rounded(otherCores, 2) };
  }

  #read(): Reading {
    const { stores, receiver } = this.harness;
    return {
      node: [this.pids].flat().reduce((sum, pid) => sum + cpuSeconds(pid), 0),
      redis: cpuSeconds(stores.redis.pid),
      postgres: cpuSeconds(stores.postgres.pid),
      receiver: cpuSeconds(receiver.pid),
      own: ownCpuSeconds(),
      client: this.clientPid === null ? 0 : cpuSeconds(this.clientPid),
      busy: busySeconds(),
      atMs: now(),
    };
  }
}

export function perThousand(used: Cpu, messages: number): Cpu {
  const each = (seconds: number): number => rounded((seconds / messages) * 1_000, 4);
  return { node: each(used.node), redis: each(used.redis), postgres: each(used.postgres) };
}

export function total(cpu: Cpu): number {
  return cpu.node + cpu.redis + cpu.postgres;
}
