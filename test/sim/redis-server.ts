// A simulated Redis: just the data that our scripts use, which can be lost, set back, or kept from everybody for a while.

import { createHash } from 'node:crypto';
import { Script } from '../../src/redis/script.js';
import type { Link } from './link.js';
import { lockScripts } from './lock-scripts.js';
import { shardScripts } from './shard-scripts.js';
import { rosterScripts } from './roster-scripts.js';
import { Server } from './server.js';
import type { World } from './world.js';

export interface StringValue {
  readonly text: string;
  readonly endsAtMs: number;
  /** Which process wrote it: for the checks. */
  readonly by: string;
}

export interface Caller {
  readonly id: string;
}

/** What a script does, as its Lua file does it. Gives the reply. */
export type ScriptModel = (redis: RedisServer, keys: readonly string[], args: readonly string[], by: Caller) => unknown;

interface Data {
  strings: Map<string, StringValue>;
  hashes: Map<string, Map<string, string>>;
  sets: Map<string, Map<string, number>>;
  /** When sets end that were told to. */
  expiries: Map<string, number>;
}

function noData(): Data {
  return { strings: new Map(), hashes: new Map(), sets: new Map(), expiries: new Map() };
}

const models: Readonly<Record<string, ScriptModel>> = { ...lockScripts, ...shardScripts, ...rosterScripts };
export const modelNames: readonly string[] = Object.keys(models);
/** Scripts are known by the hash of their source, as in Redis. */
const nameOfHash = new Map(Object.keys(models).map((name) => [sha1(new Script(name).source), name]));
const KEPT_STATES = 6;
const STATE_EVERY_MS = 400;

interface Subscriber {
  readonly connection: number;
  readonly channels: Set<string>;
  readonly hear: (channel: string, text: string) => void;
}

export class RedisServer extends Server {
  #data = noData();
  #states: { atMs: number; data: Data }[] = [];
  readonly #pace: number;
  readonly #aheadMs: number;
  readonly #subscribers = new Map<Link, Subscriber>();
  /** Another one after each restart or failover. */
  runId = 1;
  models: Readonly<Record<string, ScriptModel>> = models;
  /** Told of each script that was carried out. */
  onScript: (name: string, keys: readonly string[], args: readonly string[], reply: unknown, by: Caller) => void = () =>
    undefined;

  constructor(world: World, name: string, pace = 1) {
    super(world, name);
    this.#pace = pace;
    this.#aheadMs = world.random.within(-5_000, 5_000);
  }

  /** The server's own clock, in whole milliseconds. */
  timeMs(): number {
    return Math.floor(this.exactMs());
  }

  exactMs(): number {
    return this.#aheadMs + this.world.nowMs * this.#pace;
  }

  script(hash: string, keys: readonly string[], args: readonly string[], by: Caller): unknown {
    const name = nameOfScript(hash);
    const model = this.models[name];
    if (model === undefined) throw new Error('ERR the simulation has no model of this script');
    const reply = model(this, keys, args, by);
    this.onScript(name, keys, args, reply, by);
    return reply;
  }

  get(key: string): StringValue | null {
    const value = this.#data.strings.get(key);
    return value === undefined || value.endsAtMs <= this.timeMs() ? null : value;
  }

  put(key: string, text: string, by: Caller, ttlMs = Infinity): void {
    this.#data.strings.set(key, { text, by: by.id, endsAtMs: this.timeMs() + ttlMs });
  }

  remove(key: string): void {
    this.#data.strings.delete(key);
  }

  hash(key: string): Map<string, string> {
    return made(this.#data.hashes, key);
  }

  set(key: string): Map<string, number> {
    if ((this.#data.expiries.get(key) ?? Infinity) <= this.timeMs()) {
      this.#data.sets.delete(key);
      this.#data.expiries.delete(key);
    }
    return made(this.#data.sets, key);
  }

  /** A set ends with all its members after this time, unless it is told anew. */
  expire(key: string, ttlMs: number): void {
    this.#data.expiries.set(key, this.timeMs() + ttlMs);
  }

  /** Members by score, as a sorted set has them. */
  sorted(key: string): [string, number][] {
    return [...this.set(key)].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
  }

  /** The first of those. */
  head(key: string): [string, number] | undefined {
    let first: [string, number] | undefined;
    for (const entry of this.set(key)) {
      if (first === undefined || entry[1] < first[1] || (entry[1] === first[1] && entry[0] < first[0])) first = entry;
    }
    return first;
  }

  /** All that it has, by key, as a Redis shows it: nothing of what ended or is empty. */
  contents(): Record<string, unknown> {
    const { strings, hashes, sets } = this.#data;
    const found: [string, unknown][] = [];
    for (const key of strings.keys()) found.push([key, this.get(key)?.text ?? null]);
    for (const [key, hash] of hashes) found.push([key, hash.size === 0 ? null : Object.fromEntries(hash)]);
    for (const key of sets.keys())
      found.push([key, this.set(key).size === 0 ? null : Object.fromEntries(this.set(key))]);
    return Object.fromEntries(found.filter(([, value]) => value !== null));
  }

  subscribe(link: Link, channel: string, hear: (channel: string, text: string) => void): void {
    const known = this.#subscribers.get(link);
    // A server knows a connection, not who made it: what an earlier one subscribed to is gone with it.
    const subscriber =
      known?.connection === link.connection
        ? known
        : { connection: link.connection, channels: new Set<string>(), hear };
    subscriber.channels.add(channel);
    this.#subscribers.set(link, subscriber);
  }

  unsubscribe(link: Link, channel: string): void {
    this.#subscribers.get(link)?.channels.delete(channel);
  }

  publish(channel: string, text: string): number {
    for (const [link, { connection, channels, hear }] of this.#subscribers) {
      if (connection === link.connection && channels.has(channel)) link.push(() => hear(channel, text));
    }
    return 0;
  }

  forget(link: Link): void {
    this.#subscribers.delete(link);
    this.links.delete(link);
  }

  flush(): void {
    this.world.note(`${this.name} is flushed`);
    this.#data = noData();
  }

  /** Ends and comes back after a while as another process, with what it had so long ago (0: all) or with nothing (null). */
  restart(downMs: number, forgetsMs: number | null): void {
    this.kill();
    this.runId += 1;
    if (forgetsMs === null) this.flush();
    else this.#goBack(forgetsMs);
    this.world.after(downMs, () => this.rise());
  }

  /** Keeps states to go back to. */
  rememberStates(): void {
    this.#states.push({ atMs: this.world.nowMs, data: copyOf(this.#data) });
    if (this.#states.length > KEPT_STATES) this.#states.shift();
    this.world.after(STATE_EVERY_MS, () => this.rememberStates());
  }

  #goBack(forgetsMs: number): void {
    const state = this.#states.findLast(({ atMs }) => atMs <= this.world.nowMs - forgetsMs);
    if (forgetsMs === 0 || state === undefined) return;
    this.world.note(`${this.name} goes back by ${(this.world.nowMs - state.atMs).toFixed(0)} ms`);
    this.#data = copyOf(state.data);
    this.#states = this.#states.filter(({ atMs }) => atMs <= state.atMs);
  }
}

function copyOf({ strings, hashes, sets, expiries }: Data): Data {
  return {
    strings: new Map(strings),
    hashes: new Map([...hashes].map(([key, hash]) => [key, new Map(hash)])),
    sets: new Map([...sets].map(([key, set]) => [key, new Map(set)])),
    expiries: new Map(expiries),
  };
}

function made<Value>(maps: Map<string, Map<string, Value>>, key: string): Map<string, Value> {
  const known = maps.get(key);
  if (known !== undefined) return known;
  const fresh = new Map<string, Value>();
  maps.set(key, fresh);
  return fresh;
}

/** '' for a script that the simulation does not know. */
export function nameOfScript(hash: string): string {
  return nameOfHash.get(hash) ?? '';
}

export function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}
