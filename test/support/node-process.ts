/** Runs a real node process, to be killed, frozen, stopped and started again at the same address. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Config } from '../../src/config.js';
import { isReady } from '../../cluster/nodes/node-process.js';
import { identify, signal, untilGone, type ProcessIdentity } from '../../cluster/system/processes.js';
import { UNHANDLED_REJECTION } from '../../src/telemetry/logger.js';
import { TEST_ADMIN_TOKEN, TEST_SHARDS, TEST_SIGNING_KEYS, TEST_TOKEN } from './node.js';
import { stablePort } from './stable-port.js';

/** A line of a node's log. */
export interface LogLine {
  /** pino's: 30 info, 40 warn, 50 error, 60 fatal. */
  readonly level: number;
  readonly msg: string;
  readonly time: string;
  readonly [field: string]: unknown;
}

/** One life of the process, from spawn to end. Times by the machine's clock. */
export interface Life {
  readonly spawnedAtMs: number;
  /** When /readyz answered 200; null when it never did. */
  readyAtMs: number | null;
  endedAtMs: number | null;
  /** How the end began: a kill -9, a signal to stop, or by itself (null). */
  endedBy: 'SIGKILL' | 'SIGTERM' | null;
  exitCode: number | null;
}

export interface NodeProcess {
  /** Stays the same over restarts. */
  readonly url: string;
  readonly lives: readonly Life[];
  /** What it logged, over all its lives. What was no JSON has level 60: a crash. */
  readonly log: readonly LogLine[];
  /** Spawns the process and waits until it is ready. `changes` apply from now on. Gives the time from spawn to ready, in milliseconds. */
  start(changes?: Partial<Config>): Promise<number>;
  /** kill -9, and waits until it is gone. */
  kill9(): Promise<void>;
  /** Asks it to stop and waits for its end. Gives its exit code and how long it took. */
  sigterm(timeoutMs?: number): Promise<{ code: number | null; durationMs: number }>;
  /** Freezes it: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  waitUntilReady(timeoutMs?: number): Promise<void>;
  /** Calls the API as the tenant "default". */
  call(
    method: string,
    path: string,
    options?: { headers?: Record<string, string>; body?: string; timeoutMs?: number },
  ): Promise<Response>;
  /** Ends it if it runs. Rejects when it ever left a promise unhandled: that is a fault whatever was tested. */
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY_POLL_MS = 20;
const READY_TIMEOUT_MS = 60_000;

/** A node that is not started yet; `settings` differ from a test's usual ones and name the stores. */
export async function nodeProcess(
  settings: Partial<Config> & Pick<Config, 'CARILLON_DATABASE_URL' | 'CARILLON_REDIS_URL'>,
): Promise<NodeProcess> {
  await ensureBuilt();
  return new Process(await stablePort(), settings);
}

async function ensureBuilt(): Promise<void> {
  const file: string = pathToFileURL(`${ROOT}scripts/prepare.mjs`).href;
  const prepare = (await import(file)) as { ensureBuilt(say: (line: string) => void): Promise<void> };
  await prepare.ensureBuilt(() => undefined);
}

class Process implements NodeProcess {
  readonly url: string;
  readonly lives: Life[] = [];
  readonly log: LogLine[] = [];
  #settings: Partial<Config>;
  #child: ChildProcess | null = null;
  #identity: ProcessIdentity | null = null;
  #ended: Promise<void> = Promise.resolve();

  constructor(port: number, settings: Partial<Config>) {
    this.url = `http://127.0.0.1:${port}`;
    this.#settings = {
      CARILLON_PORT: port,
      CARILLON_SHARDS: TEST_SHARDS,
      CARILLON_TOKEN: TEST_TOKEN,
      CARILLON_ADMIN_TOKEN: TEST_ADMIN_TOKEN,
      CARILLON_CURRENT_SIGNING_KEY: TEST_SIGNING_KEYS.current,
      CARILLON_NEXT_SIGNING_KEY: TEST_SIGNING_KEYS.next,
      CARILLON_ALLOW_PRIVATE_DESTINATIONS: true,
      CARILLON_RETRY_DELAY_MIN_MS: 0,
      CARILLON_LEASE_MS: 900,
      CARILLON_HEARTBEAT_MS: 200,
      CARILLON_LEAVE_MS: 0,
      ...settings,
    };
  }

  async start(changes: Partial<Config> = {}): Promise<number> {
    this.#settings = { ...this.#settings, ...changes };
    this.#spawn();
    await this.waitUntilReady();
    const life = this.#life();
    return (life.readyAtMs ?? 0) - life.spawnedAtMs;
  }

  #spawn(): void {
    if (this.#child !== null) throw new Error('the node runs already');
    const variables = Object.entries(this.#settings).map(([name, value]) => [name, String(value)]);
    const child = spawn(process.execPath, [`${ROOT}dist/node.js`], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, TZ: 'UTC', ...(Object.fromEntries(variables) as Record<string, string>) },
    });
    const life: Life = { spawnedAtMs: Date.now(), readyAtMs: null, endedAtMs: null, endedBy: null, exitCode: null };
    this.lives.push(life);
    this.#child = child;
    this.#identity = identify(child.pid ?? -1) ?? null;
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => this.#note(line));
    }
    this.#ended = new Promise((resolve) => {
      child.once('close', (code) => {
        life.endedAtMs ??= Date.now();
        life.exitCode = code;
        this.#child = null;
        resolve();
      });
    });
  }

  #note(line: string): void {
    if (process.env.CARILLON_TEST_LOG !== undefined) process.stderr.write(`${line}\n`);
    try {
      this.log.push(JSON.parse(line) as LogLine);
    } catch {
      this.log.push({ level: 60, msg: line, time: new Date().toISOString() });
    }
  }

  async waitUntilReady(timeoutMs = READY_TIMEOUT_MS): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    const life = this.#life();
    for (;;) {
      if (life.endedAtMs !== null) throw new Error(`the node ended before it was ready: ${this.#lastLines()}`);
      if (await isReady(this.url)) break;
      if (performance.now() > deadlineMs) throw new Error(`not ready after ${timeoutMs} ms: ${this.#lastLines()}`);
      await delay(READY_POLL_MS);
    }
    life.readyAtMs ??= Date.now();
  }

  async kill9(): Promise<void> {
    const life = this.#life();
    life.endedBy = 'SIGKILL';
    this.#signal('SIGKILL');
    life.endedAtMs = Date.now();
    await this.#ended;
  }

  async sigterm(timeoutMs = 60_000): Promise<{ code: number | null; durationMs: number }> {
    const startedAtMs = performance.now();
    const life = this.#life();
    life.endedBy = 'SIGTERM';
    this.#signal('SIGTERM');
    const late = new AbortController();
    const tooLate = delay(timeoutMs, true, { signal: late.signal }).catch(() => false);
    if (await Promise.race([this.#ended.then(() => false), tooLate])) {
      throw new Error(`the node did not stop within ${timeoutMs} ms: ${this.#lastLines()}`);
    }
    late.abort();
    return { code: life.exitCode, durationMs: performance.now() - startedAtMs };
  }

  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  call(
    method: string,
    path: string,
    options: { headers?: Record<string, string>; body?: string; timeoutMs?: number } = {},
  ): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${TEST_TOKEN}`, ...options.headers },
      signal: AbortSignal.timeout(options.timeoutMs ?? 20_000),
      ...(options.body === undefined ? {} : { body: options.body }),
    });
  }

  async stop(): Promise<void> {
    if (this.#child !== null && this.#identity !== null) {
      signal(this.#identity, 'SIGKILL');
      await untilGone(this.#identity, 5_000);
      await this.#ended;
    }
    const unhandled = this.log.find(({ msg }) => msg === UNHANDLED_REJECTION);
    if (unhandled !== undefined) throw new Error(`the node left a promise unhandled: ${JSON.stringify(unhandled)}`);
  }

  #signal(name: NodeJS.Signals): void {
    if (this.#child === null || this.#identity === null) throw new Error(`the node does not run: ${this.#lastLines()}`);
    signal(this.#identity, name);
  }

  #life(): Life {
    const life = this.lives.at(-1);
    if (life === undefined) throw new Error('the node was never started');
    return life;
  }

  #lastLines(): string {
    return this.log
      .slice(-5)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }
}
