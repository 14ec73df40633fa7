// Loads Lua scripts from their files and runs them by hash; sends the source again when Redis does not know the hash.

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
 * Sends the commands of one turn of the event loop in one write at its end, one for each master of a cluster. A system
 * call for each command, and one for each reply, would cost both sides more than the commands.
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
  // Before the first connection there is no stream, although its type says so.
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

/** Returns whether Redis refused a script because it is full. */
export function isFull(error: unknown): boolean {
  return error instanceof CarillonError && isReply(error.cause, 'OOM');
}

/** Errors of a server about itself, also from within a script: another server may answer, or this one later. */
const ABOUT_SERVER = /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN|LOADING|NOREPLICAS|MISCONF|OOM)\b/;
/** Errors of a script or its keys; CROSSSLOT: its keys are in several slots of a cluster. */
const SCRIPT_ERROR = /user_script|Script attempted|WRONGTYPE|CROSSSLOT/;

/** Returns an error in our script unchanged; any other error becomes REDIS_UNAVAILABLE. */
export function redisError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (SCRIPT_ERROR.test(error.message) && !ABOUT_SERVER.test(error.message)) return error;
  return new CarillonError('REDIS_UNAVAILABLE', `Redis is unavailable: ${error.message}`, { cause: error });
}
