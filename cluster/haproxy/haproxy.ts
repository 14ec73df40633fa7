/** Runs HAProxy in front of the nodes: one address, each request to a node that says it is ready. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureHaproxyBinary } from './haproxy-binary.js';
import type { Account } from '../stores/postgres-account.js';
import { writePrivate } from '../system/private-file.js';
import { isRunning } from '../system/processes.js';
import { endProcess, recordedProcess, recordProcess, spawnServer, type LocalStore } from '../system/server-process.js';
import { unprivilegedAccount } from '../system/unprivileged.js';

export interface HaproxyOptions {
  /** Folder for its configuration and process record; made if missing. */
  readonly dir: string;
  /** Where it listens. */
  readonly port: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The nodes behind it, all on 127.0.0.1; the names are for its log. */
  readonly nodes: readonly { readonly name: string; readonly port: number }[];
  /** File for its output; default `haproxy.log` in the folder. */
  readonly log?: string;
  /** Most bytes of a request's headers, target included; default 64 KiB. */
  readonly headersMaxBytes?: number;
  /** Gets a line when something must be installed. */
  readonly say?: (line: string) => void;
}

const TEMPLATE = new URL('haproxy.cfg', import.meta.url);
const READY_TIMEOUT_MS = 20_000;
const READY_POLL_MS = 20;
/** How often it asks each node whether it is ready, in milliseconds. */
const CHECK_MS = 250;
/** The nodes' own limits are all shorter: a minute for a request to arrive, ten seconds for a statement. */
const ANSWER_MS = 180_000;
/** Requests under way when it is told to stop get so long. */
const HARD_STOP_MS = 3_000;
const HEADERS_MAX_BYTES = 64 * 1_024;
/** What HAProxy keeps free in its buffer to add headers. */
const REWRITE_BYTES = 1_024;
/** SIGUSR1 lets the requests under way end. */
const STOP_STEPS = [
  { signal: 'SIGUSR1', waitMs: HARD_STOP_MS + 2_000 },
  { signal: 'SIGTERM', waitMs: 3_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/**
 * Starts it and waits until it takes connections; nodes need not be there yet. One that an earlier run left behind is
 * stopped first. Throws with the end of its log if it cannot start, and with the command to type if it is not installed.
 */
export async function startHaproxy(options: HaproxyOptions): Promise<LocalStore> {
  const dir = path.resolve(options.dir);
  const host = options.host ?? '127.0.0.1';
  const log = options.log ?? path.join(dir, 'haproxy.log');
  const say = options.say ?? ((line: string) => console.warn(line));
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const binary = await ensureHaproxyBinary(path.join(dir, 'install.log'), say);
  await stopLeftHaproxy(dir);
  const account = unprivilegedAccount('HAProxy', dir, say);
  const file = path.join(dir, 'haproxy.cfg');
  const sign = `/haproxy-${randomUUID()}`;
  writePrivate(file, haproxyConfiguration(readFileSync(TEMPLATE, 'utf8'), { ...options, host, sign, account }));
  // -db: in the foreground, without a master process, whatever the configuration says.
  const server = await spawnServer({ file: binary.file, args: ['-db', '-f', file], cwd: dir }, log);
  recordProcess(dir, server.identity);
  const stop = (): Promise<void> => endProcess('HAProxy', server.identity, STOP_STEPS);
  const url = `http://${inUrl(reachable(host))}:${options.port}`;
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!(await answers(`${url}${sign}`))) {
    const isLate = performance.now() > deadline;
    if (isLate) await stop();
    if (isLate || !isRunning(server.identity)) {
      throw new Error(`HAProxy did not start on port ${options.port}; its log ${log} ends with:\n${server.logged()}`);
    }
    await delay(READY_POLL_MS);
  }
  return {
    url,
    pid: server.identity.pid,
    port: options.port,
    adopted: false,
    gone: server.gone,
    stop,
  };
}

/** Stops the one that an earlier run left behind in this folder, if there is one. */
export async function stopLeftHaproxy(dir: string): Promise<void> {
  const left = recordedProcess(dir);
  if (left !== undefined) await endProcess('HAProxy of an earlier run', left, STOP_STEPS.slice(1));
}

/** The address by which something that listens on `host` is reached from this machine. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/** The address as it stands in a URL. */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

interface Filling extends HaproxyOptions {
  readonly host: string;
  /** A path that nobody but this process of HAProxy answers. */
  readonly sign: string;
  readonly account: Account | undefined;
}

/** The template with everything filled in; throws if a name is none that HAProxy takes. */
function haproxyConfiguration(template: string, options: Filling): string {
  const wrong = options.nodes.find(({ name }) => !/^[A-Za-z0-9_.:-]+$/.test(name));
  if (wrong !== undefined) throw new Error(`"${wrong.name}" is no name for a node: letters, digits and "_.:-" only`);
  const values: Readonly<Record<string, string>> = {
    bind: `${options.host}:${options.port}${options.host === '::' ? ' v4v6' : ''}`,
    servers: options.nodes.map(({ name, port }) => `    server ${name} 127.0.0.1:${port}`).join('\n'),
    bufferBytes: String((options.headersMaxBytes ?? HEADERS_MAX_BYTES) + REWRITE_BYTES),
    answerMs: String(ANSWER_MS),
    hardStopMs: String(HARD_STOP_MS),
    sign: options.sign,
    account: options.account === undefined ? '' : `uid ${options.account.uid}\n    gid ${options.account.gid}`,
    checkMs: String(CHECK_MS),
  };
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`haproxy.cfg asks for "${name}", which nobody fills in`);
    return value;
  });
}

/** Another program may hold the port, so an open connection alone does not tell. */
async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.status === 204;
  } catch {
    return false;
  }
}
