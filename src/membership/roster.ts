// The roster in the data Redis: the members and the shards that they report to own. It is a hint for planning, never a
// guard: it may be lost, late or wrong at any time, and each heartbeat writes again what the node knows.

import type { Cluster, Redis } from 'ioredis';
import { redisError, Script } from '../redis/script.js';
import type { Owners } from './plan.js';

/** The facts that a node reports about itself. */
export interface AboutNode {
  readonly name: string;
  /** Since the process started, by its own clock. */
  readonly uptimeMs: number;
  readonly draining: boolean;
  /** False when it is unhealthy: it cannot reach PostgreSQL or the lock servers. */
  readonly able: boolean;
}

export interface Member extends AboutNode {
  readonly id: string;
  /** Since its last heartbeat, by Redis's clock. */
  readonly heardMs: number;
}

export interface RosterView {
  /** By id. */
  readonly members: readonly Member[];
  /** By shard, as reported; the owner may be dead. */
  readonly owners: Owners;
  /** How many processes of a name died lately (sent no heartbeat for a lease). */
  readonly deaths: ReadonlyMap<string, number>;
}

export interface RosterSettings {
  readonly prefix: string;
  readonly shards: number;
  readonly leaseMs: number;
  readonly deathsRememberedMs: number;
}

const scripts = { heartbeat: new Script('heartbeat'), clearOwner: new Script('clear-owner') };

export class Roster {
  readonly #redis: Redis | Cluster;
  readonly #settings: RosterSettings;
  readonly #keys: {
    readonly members: string;
    readonly about: string;
    readonly owners: string;
    readonly deaths: string;
  };

  constructor(redis: Redis | Cluster, settings: RosterSettings) {
    this.#redis = redis;
    this.#settings = settings;
    const tag = `${settings.prefix}:{roster}`;
    this.#keys = { members: `${tag}:members`, about: `${tag}:about`, owners: `${tag}:owners`, deaths: `${tag}:deaths` };
  }

  /**
   * Reports that the node is alive and owns these shards, and reads the roster. Throws REDIS_UNAVAILABLE when Redis is
   * unavailable.
   */
  async heartbeat(id: string, about: AboutNode, owned: readonly number[]): Promise<RosterView> {
    const { members, about: abouts, owners, deaths } = this.#keys;
    const { leaseMs, deathsRememberedMs } = this.#settings;
    const reply = (await scripts.heartbeat.run(
      this.#redis,
      [members, abouts, owners, deaths],
      [id, JSON.stringify(about), leaseMs, deathsRememberedMs, ...owned],
    )) as [number, string[], string[], string[], string[]];
    return this.#viewOf(reply);
  }

  /** Reports that the node acquired shards, before its next heartbeat does. */
  async setOwner(id: string, shards: readonly number[]): Promise<void> {
    if (shards.length === 0) return;
    await this.#guarded(() => this.#redis.hset(this.#keys.owners, ...shards.flatMap((shard) => [String(shard), id])));
  }

  /** Removes the node as owner of shards, unless another node is already recorded as owner. */
  async clearOwner(id: string, shards: readonly number[]): Promise<void> {
    if (shards.length > 0) await scripts.clearOwner.run(this.#redis, [this.#keys.owners], [id, ...shards]);
  }

  /** Removes the node from the roster. */
  async leave(id: string): Promise<void> {
    await this.#guarded(async () => {
      await this.#redis.zrem(this.#keys.members, id);
      await this.#redis.hdel(this.#keys.about, id);
    });
  }

  #viewOf([now, heard, abouts, owners, deaths]: [number, string[], string[], string[], string[]]): RosterView {
    const aboutOf = new Map(pairs(abouts));
    const members = pairs(heard).flatMap(([id, heardAtMs]) => {
      const about = readAbout(aboutOf.get(id));
      return about === null ? [] : [{ id, heardMs: Math.max(0, now - Number(heardAtMs)), ...about }];
    });
    const ownerOf = new Map(pairs(owners));
    return {
      members: members.sort((a, b) => (a.id < b.id ? -1 : 1)),
      owners: Array.from({ length: this.#settings.shards }, (_, shard) => ownerOf.get(String(shard)) ?? null),
      deaths: countByName(pairs(deaths).map(([id]) => nameOf(id))),
    };
  }

  async #guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw redisError(error);
    }
  }
}

/**
 * Returns the name in a node's id, which is its label and a random suffix that distinguishes two processes of one name.
 */
export function nameOf(id: string): string {
  return id.slice(0, id.lastIndexOf('-'));
}

function readAbout(text: string | undefined): AboutNode | null {
  if (text === undefined) return null;
  const { name, uptimeMs, draining, able } = JSON.parse(text) as Partial<AboutNode>;
  return { name: name ?? '', uptimeMs: uptimeMs ?? 0, draining: draining ?? false, able: able ?? true };
}

function countByName(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) {
    found.push([String(flat[index]), String(flat[index + 1])]);
  }
  return found;
}
