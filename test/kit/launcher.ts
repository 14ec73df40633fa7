/** Runs `npm start`'s launcher as a process, with a data folder and ports of its own, and cleans up whatever it leaves. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ClusterRecord } from '../../cluster/launcher/cluster-file.js';
import { identify, signal, untilGone, type ProcessIdentity } from '../../cluster/system/processes.js';
import { recordedProcess } from '../../cluster/system/server-process.js';
import { runCli, type CliResult } from './cli.js';

export interface Launcher {
  readonly pid: number;
  /** Everything it printed. */
  output(): string;
  /** Settles with its exit code (null after a kill -9) when it has ended. */
  readonly ended: Promise<number | null>;
  /** Settles when it printed that it is ready; rejects when it ended first. */
  readonly ready: Promise<void>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A data folder in which launchers run, one after the other. */
export class LocalCluster {
  readonly #launchers: Launcher[] = [];
  readonly #seen = new Map<number, ProcessIdentity>();

  constructor(
    readonly home: string,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  async launch(...args: string[]): Promise<Launcher> {
    const file: string = pathToFileURL(`${ROOT}scripts/prepare.mjs`).href;
    const prepare = (await import(file)) as { ensureBuilt(say: (line: string) => void): Promise<void> };
    await prepare.ensureBuilt(() => undefined);
    const child = spawn(process.execPath, [`${ROOT}scripts/start.mjs`, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, TZ: 'UTC', CARILLON_HOME: this.home, ...this.environment },
    });
    const launcher = follow(child);
    this.#launchers.push(launcher);
    return launcher;
  }

  /** What cluster.json says; undefined when it is not there. */
  cluster(): ClusterRecord | undefined {
    let text: string;
    try {
      text = readFileSync(path.join(this.home, 'cluster.json'), 'utf8');
    } catch {
      return undefined;
    }
    const cluster = JSON.parse(text) as ClusterRecord;
    for (const pid of pidsOf(cluster)) {
      const identity = identify(pid);
      if (identity !== undefined && !this.#seen.has(pid)) this.#seen.set(pid, identity);
    }
    return cluster;
  }

  carillon(...args: string[]): Promise<CliResult> {
    return runCli(args, { environment: { CARILLON_HOME: this.home } });
  }

  /** Ends whatever still runs, and deletes the folder. */
  async remove(): Promise<void> {
    this.cluster();
    for (const { pid, ended } of this.#launchers) {
      const identity = identify(pid);
      if (identity === undefined) continue;
      signal(identity, 'SIGKILL');
      await ended;
    }
    const recorded = ['postgres', 'redis', 'haproxy'].flatMap(
      (name) => recordedProcess(path.join(this.home, name)) ?? [],
    );
    for (const identity of [...this.#seen.values(), ...recorded]) {
      signal(identity, 'SIGKILL');
      await untilGone(identity, 5_000);
    }
    rmSync(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/** Every process that runs for a cluster, without the launcher. */
export function pidsOf({ nodes, loadBalancer, postgres, redis }: ClusterRecord): number[] {
  const running = nodes.filter(({ state }) => state === 'running').map(({ pid }) => pid);
  return [...running, loadBalancer?.pid, postgres.pid, redis.pid].flatMap((pid) => pid ?? []);
}

function follow(child: ChildProcess): Launcher {
  let output = '';
  let isReady = (): void => undefined;
  const printed = new Promise<void>((resolve) => (isReady = resolve));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (part: Buffer) => {
      output += part.toString();
      if (process.env.CARILLON_TEST_LOG !== undefined) process.stderr.write(part);
      if (output.includes('Ctrl-C stops Carillon')) isReady();
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const failed = ended.then((code) => {
    throw new Error(`the launcher ended with ${code}:\n${output.slice(-2_000)}`);
  });
  const ready = Promise.race([printed, failed]);
  ready.catch(() => undefined);
  return { pid: child.pid ?? -1, output: () => output, ended, ready };
}
