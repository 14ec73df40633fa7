/** A node as a real process that is started, stopped, killed and frozen; each of its lives has a log file of its own. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isReady } from '../../cluster/nodes/node-process.js';
import { identify, signal, type ProcessIdentity } from '../../cluster/system/processes.js';
import type { Life } from './evidence.js';

export type NodeState = 'down' | 'starting' | 'ready' | 'stopping' | 'frozen';

const MAIN = fileURLToPath(new URL('../../node.js', import.meta.url));
const READY_POLL_MS = 50;
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 60_000;

export interface ChaosNodeOptions {
  readonly name: string;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly logs: string;
  /** Told of each new process before it can call anybody. */
  readonly onSpawn: (pid: number) => void;
}

/** A life and where its log is. */
export interface LoggedLife {
  readonly life: Life;
  readonly log: string;
}

export class ChaosNode {
  readonly name: string;
  readonly port: number;
  readonly lives: LoggedLife[] = [];
  state: NodeState = 'down';
  readonly #options: ChaosNodeOptions;
  #identity: ProcessIdentity | null = null;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: ChaosNodeOptions) {
    this.name = options.name;
    this.port = options.port;
    this.#options = options;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Spawns the process and waits until it is ready. Rejects when it ends before, or takes a minute. */
  async start(): Promise<void> {
    this.#spawn();
    await this.untilReady();
  }

  #spawn(): void {
    if (this.#identity !== null) throw new Error(`${this.name} runs already`);
    const log = path.join(this.#options.logs, `${this.name}.${this.lives.length + 1}.log`);
    const descriptor = openSync(log, 'a', 0o600);
    // A session of its own: Ctrl-C in the terminal is for the script. Straight into a file: a node must never wait for a reader.
    const child = spawn(process.execPath, [MAIN], {
      detached: true,
      stdio: ['ignore', descriptor, descriptor],
      env: { PATH: process.env.PATH ?? '', TZ: 'UTC', ...this.#options.environment },
    });
    closeSync(descriptor);
    const pid = child.pid ?? -1;
    const life: Life = {
      name: this.name,
      pid,
      identity: null,
      spawnedAtMs: Date.now(),
      readyAtMs: null,
      endedAtMs: null,
      endedBy: null,
      signaledAtMs: null,
      exitCode: null,
    };
    this.lives.push({ life, log });
    this.#options.onSpawn(pid);
    this.#identity = identify(pid) ?? { pid, startedAt: 'ended' };
    this.state = 'starting';
    this.#ended = new Promise((resolve) => {
      child.once('exit', (code) => {
        life.endedAtMs = Date.now();
        life.exitCode = code;
        this.#identity = null;
        this.state = 'down';
        resolve();
      });
    });
  }

  async untilReady(timeoutMs = READY_TIMEOUT_MS): Promise<void> {
    const life = this.#life();
    const deadlineMs = performance.now() + timeoutMs;
    while (!(await this.isReady())) {
      if (life.endedAtMs !== null) throw new Error(`${this.name} ended before it was ready: ${this.lives.at(-1)?.log}`);
      if (performance.now() > deadlineMs) throw new Error(`${this.name} was not ready within ${timeoutMs} ms`);
      await delay(READY_POLL_MS);
    }
    life.readyAtMs ??= Date.now();
    this.state = 'ready';
  }

  async isReady(): Promise<boolean> {
    if (this.#identity === null) return false;
    return isReady(this.url);
  }

  /** Asks it to stop and waits until it is gone; kills it after a minute, which the checker finds by its exit code. */
  async sigterm(): Promise<void> {
    this.#signal('SIGTERM');
    this.state = 'stopping';
    const late = new AbortController();
    const tooLate = delay(STOP_TIMEOUT_MS, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([this.#ended, tooLate]);
    late.abort();
    if (this.#identity !== null) signal(this.#identity, 'SIGKILL');
    await this.#ended;
  }

  /** kill -9, and waits until it is gone. Does nothing when it is down. */
  async kill9(): Promise<void> {
    if (this.#identity === null) return;
    this.#signal('SIGKILL');
    await this.#ended;
  }

  freeze(): void {
    if (this.#identity !== null) signal(this.#identity, 'SIGSTOP');
    this.state = 'frozen';
  }

  thaw(): void {
    if (this.#identity !== null) signal(this.#identity, 'SIGCONT');
    this.state = 'starting';
  }

  get isDown(): boolean {
    return this.#identity === null;
  }

  #signal(name: 'SIGKILL' | 'SIGTERM'): void {
    if (this.#identity === null) throw new Error(`${this.name} does not run`);
    const life = this.#life();
    life.endedBy = name;
    life.signaledAtMs = Date.now();
    signal(this.#identity, name);
  }

  #life(): Life {
    const last = this.lives.at(-1);
    if (last === undefined) throw new Error(`${this.name} was never started`);
    return last.life;
  }
}
