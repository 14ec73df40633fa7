/** A node process for tests: with a test's settings, its log, and its API. */
import { createInterface } from 'node:readline';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../../src/config.js';
import { UNHANDLED_REJECTION } from '../../src/telemetry/logger.js';
import { TEST_ADMIN_TOKEN, TEST_SHARDS, TEST_SIGNING_KEYS, TEST_TOKEN } from './node.js';
import { repositoryRoot } from '../../cluster/system/repository-root.js';
import { NodeProcess } from './node-process.js';
import { stablePort } from './stable-port.js';

/** A line of a node's log. */
export interface LogLine {
  /** pino's: 30 info, 40 warn, 50 error, 60 fatal. */
  readonly level: number;
  readonly msg: string;
  readonly time: string;
  readonly [field: string]: unknown;
}

/** A node that is not started yet; `settings` differ from a test's usual ones and name the stores. */
export async function nodeProcess(
  settings: Partial<Config> & Pick<Config, 'CARILLON_DATABASE_URL' | 'CARILLON_REDIS_URL'>,
): Promise<TestNodeProcess> {
  await ensureBuilt();
  return new TestNodeProcess(await stablePort(), settings);
}

async function ensureBuilt(): Promise<void> {
  const file: string = pathToFileURL(path.join(repositoryRoot(), 'scripts', 'prepare.mjs')).href;
  const prepare = (await import(file)) as { ensureBuilt(say: (line: string) => void): Promise<void> };
  await prepare.ensureBuilt(() => undefined);
}

/** A node as tests start it, whose log they read. */
export class TestNodeProcess extends NodeProcess {
  /** What it logged, over all its lives. What was no JSON has level 60: a crash. */
  readonly log: LogLine[] = [];
  #settings: Partial<Config>;

  constructor(port: number, settings: Partial<Config>) {
    super({
      name: 'the node',
      port,
      environment: () =>
        Object.fromEntries(Object.entries(this.#settings).map(([name, value]) => [name, String(value)])),
      output: () => 'pipe',
      onSpawn: ({ stdout, stderr }) => {
        for (const stream of [stdout, stderr]) {
          if (stream === null) continue;
          createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => this.#note(line));
        }
      },
      describe: () => this.#lastLines(),
    });
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

  /** Starts it; `changes` apply from now on. */
  override start(changes: Partial<Config> = {}): Promise<number> {
    this.#settings = { ...this.#settings, ...changes };
    return super.start();
  }

  /** Asks it to stop and waits for its end. Returns its exit code and how long it took. */
  async stopInOrder(timeoutMs = 60_000): Promise<{ code: number | null; durationMs: number }> {
    const startedAtMs = performance.now();
    const { life } = this;
    if (!(await this.sigterm(timeoutMs))) {
      throw new Error(`the node did not stop within ${timeoutMs} ms: ${this.#lastLines()}`);
    }
    return { code: life.exitCode, durationMs: performance.now() - startedAtMs };
  }

  /** Calls the API as the tenant "default". */
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

  /** Ends it if it runs. Rejects when it ever left a promise unhandled: that is a failure whatever was tested. */
  async stop(): Promise<void> {
    await this.kill9();
    const unhandled = this.log.find(({ msg }) => msg === UNHANDLED_REJECTION);
    if (unhandled !== undefined) throw new Error(`the node left a promise unhandled: ${JSON.stringify(unhandled)}`);
  }

  #note(line: string): void {
    if (process.env.CARILLON_TEST_LOG !== undefined) process.stderr.write(`${line}\n`);
    try {
      this.log.push(JSON.parse(line) as LogLine);
    } catch {
      this.log.push({ level: 60, msg: line, time: new Date().toISOString() });
    }
  }

  #lastLines(): string {
    return this.log
      .slice(-5)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }
}
