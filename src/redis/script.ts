// Loads Lua scripts from their files and runs them by hash, sending the source again when Redis has forgotten it.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Cluster, type Redis } from 'ioredis';
import { CarillonError } from '../domain/errors.js';

const FOLDER = new URL('./lua/', import.meta.url);
const SHEBANG = '#!lua\n';
const INCLUDE = /^--!include ([a-z]+)$/gm;

export class Script {
  readonly source: string;
  readonly #hash: string;

  /** `allowOom`: runs although Redis is full, whatever the file says. */
  constructor(
    readonly name: string,
    { allowOom = false } = {},
  ) {
    const source = read(`${name}.lua`).replace(INCLUDE, (_line, include: string) => read(`include/${include}.lua`));
    this.source = allowOom ? source.replace(SHEBANG, '#!lua flags=allow-oom\n') : source;
    this.#hash = createHash('sha1').update(this.source).digest('hex');
  }

  /**
   * Runs the script. Throws CarillonError REDIS_UNAVAILABLE when Redis cannot be reached, is loading, or is full.
   * A script that Redis does not know was not run, so sending it again is safe.
   */
  async run(redis: Redis | Cluster, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    gatherWrites(redis);
    try {
      return await redis.evalsha(this.#hash, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isReply(error, 'NOSCRIPT')) throw redisError(error);
    }
    try {
      return await redis.eval(this.source, keys.length, ...keys, ...args);
    } catch (error) {
      throw redisError(error);
    }
  }
}

/**
 * What one turn of the event loop has for Redis goes out in one write at its end, one for each master of a cluster. A system call for
 * each command, and a reply for each, would cost both sides more than the commands.
 */
function gatherWrites(redis: Redis | Cluster): void {
  if (!(redis instanceof Cluster)) {
    gatherWritesTo(redis);
    return;
  }
  if (gathering.has(redis)) return;
  gathering.add(redis);
  setImmediate(() => gathering.delete(redis));
  for (const master of redis.nodes('master')) gatherWritesTo(master);
}

/** Clusters whose masters' writes are gathered in this turn already. */
const gathering = new WeakSet<Cluster>();

function gatherWritesTo({ stream }: Redis): void {
  // Before the first connection there is no stream, whatever its type says.
  if ((stream as typeof stream | undefined)?.writableCorked !== 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}

function read(path: string): string {
  return readFileSync(new URL(path, FOLDER), 'utf8');
}

function isReply(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code);
}

/** Whether Redis refused a script because it is full. */
export function isFull(error: unknown): boolean {
  return error instanceof CarillonError && isReply(error.cause, 'OOM');
}

/** What a server answers that is about itself, also from within a script: another one is to be asked, or this one later. */
const ABOUT_SERVER = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN|LOADING|NOREPLICAS|MISCONF|OOM)\b/;
/** A script or its keys are wrong; CROSSSLOT: its keys lie in several slots of a cluster. */
const FAULT = /user_script|Script attempted|WRONGTYPE|CROSSSLOT/;

/** A fault of ours in a script is thrown as it is; all else means that Redis is unavailable for now. */
export function redisError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (FAULT.test(error.message) && !ABOUT_SERVER.test(error.message)) return error;
  return new CarillonError('REDIS_UNAVAILABLE', `Redis is unavailable: ${error.message}`, { cause: error });
}
