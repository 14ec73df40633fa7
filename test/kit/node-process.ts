/** A real node process over all its lives: started, stopped, killed, frozen and thawed, always at the same address. */
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isReady } from '../../cluster/nodes/node-process.js';
import { identify, signal, type ProcessIdentity } from '../../cluster/system/processes.js';
import { repositoryRoot } from '../../cluster/system/repository-root.js';

export type NodeState = 'down' | 'starting' | 'ready' | 'stopping' | 'frozen';

/** One life of the process, from spawn to end. Times by the machine's clock. */
export interface Life {
  readonly name: string;
  readonly pid: number;
  /** By the node itself, from its log. */
  identity: string | null;
  readonly spawnedAtMs: number;
  /** When /readyz answered 200; null when it never did. */
  readyAtMs: number | null;
  endedAtMs: number | null;
  /** How the end began: a kill -9, a signal to stop, or by itself (null). */
  endedBy: 'SIGKILL' | 'SIGTERM' | null;
  signaledAtMs: number | null;
  exitCode: number | null;
}

export interface NodeProcessOptions {
  readonly name: string;
  readonly port: number;
  /** Read at each start. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** For Node.js itself, such as --cpu-prof. */
  readonly nodeArguments?: readonly string[];
  /** In a session of its own, so that Ctrl-C in the terminal does not reach it. */
  readonly detached?: boolean;
  /** Where a life's output goes: a file descriptor, or 'pipe' for `onSpawn` to read. */
  readonly output: (life: number) => number | 'pipe';
  /** Told of each new process before it can call anybody. */
  readonly onSpawn?: (child: ChildProcess, life: Life) => void;
  /** Says in errors what is known, such as the last lines of the log. */
  readonly describe?: () => string;
}

const READY_POLL_MS = 20;
const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 60_000;

export class NodeProcess {
  readonly lives: Life[] = [];
  state: NodeState = 'down';
  readonly #options: NodeProcessOptions;
  #identity: ProcessIdentity | null = null;
  #ended: Promise<void> = Promise.resolve();

  constructor(options: NodeProcessOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get port(): number {
    return this.#options.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#options.port}`;
  }

  get isDown(): boolean {
    return this.#identity === null;
  }

  /** The present life, or the last one. */
  get life(): Life {
    const life = this.lives.at(-1);
    if (life === undefined) throw new Error(`${this.name} was never started`);
    return life;
  }

  /** Spawns the process and waits until it is ready. Returns how long that took, in milliseconds. Rejects when it ends before, or takes a minute. */
  async start(): Promise<number> {
    this.spawn();
    await this.untilReady();
    return (this.life.readyAtMs ?? 0) - this.life.spawnedAtMs;
  }

  spawn(): void {
    if (this.#identity !== null) throw new Error(`${this.name} runs already`);
    const { nodeArguments = [], detached = false, environment, output, onSpawn, name } = this.#options;
    const sink = output(this.lives.length + 1);
    const child = spawn(process.execPath, [...nodeArguments, path.join(repositoryRoot(), 'dist', 'node.js')], {
      detached,
      stdio: ['ignore', sink, sink],
      env: { PATH: process.env.PATH ?? '', TZ: 'UTC', ...environment() },
    });
    const pid = child.pid ?? -1;
    const life: Life = {
      ...{ name, pid, identity: null, spawnedAtMs: Date.now(), readyAtMs: null },
      ...{ endedAtMs: null, endedBy: null, signaledAtMs: null, exitCode: null },
    };
    this.lives.push(life);
    onSpawn?.(child, life);
    this.#identity = identify(pid) ?? { pid, startedAt: 'ended' };
    this.state = 'starting';
    this.#ended = new Promise((resolve) => {
      // With its output read to the end.
      child.once('close', (code) => {
        life.endedAtMs ??= Date.now();
        life.exitCode = code;
        this.#identity = null;
        this.state = 'down';
        resolve();
      });
    });
  }

  async untilReady(timeoutMs = READY_TIMEOUT_MS): Promise<void> {
    const life = this.life;
    const deadlineMs = performance.now() + timeoutMs;
    while (!(await this.isReady())) {
      if (life.endedAtMs !== null) throw new Error(`${this.name} ended before it was ready${this.#known()}`);
      if (performance.now() > deadlineMs) {
        throw new Error(`${this.name} was not ready within ${timeoutMs} ms${this.#known()}`);
      }
      await delay(READY_POLL_MS);
    }
    life.readyAtMs ??= Date.now();
    this.state = 'ready';
  }

  async isReady(): Promise<boolean> {
    return this.#identity !== null && isReady(this.url);
  }

  /** Asks it to stop and waits until it is gone. False when it had to be killed, after `timeoutMs`. */
  async sigterm(timeoutMs = STOP_TIMEOUT_MS): Promise<boolean> {
    this.#end('SIGTERM');
    this.state = 'stopping';
    const late = new AbortController();
    const tooLate = delay(timeoutMs, false, { signal: late.signal }).catch(() => true);
    const isInTime = await Promise.race([this.#ended.then(() => true), tooLate]);
    late.abort();
    if (this.#identity !== null) signal(this.#identity, 'SIGKILL');
    await this.#ended;
    return isInTime;
  }

  /** kill -9, and waits until it is gone. Does nothing when it is down. */
  async kill9(): Promise<void> {
    if (this.#identity === null) return;
    this.#end('SIGKILL');
    await this.#ended;
  }

  /** SIGSTOP: connections stay open and nothing answers. */
  freeze(): void {
    this.#signal('SIGSTOP');
    this.state = 'frozen';
  }

  thaw(): void {
    this.#signal('SIGCONT');
    this.state = 'starting';
  }

  #end(name: 'SIGKILL' | 'SIGTERM'): void {
    const life = this.life;
    life.endedBy = name;
    life.signaledAtMs = Date.now();
    this.#signal(name);
  }

  #signal(name: NodeJS.Signals): void {
    if (this.#identity === null) throw new Error(`${this.name} does not run${this.#known()}`);
    signal(this.#identity, name);
  }

  #known(): string {
    const known = this.#options.describe?.() ?? '';
    return known === '' ? '' : `: ${known}`;
  }
}
