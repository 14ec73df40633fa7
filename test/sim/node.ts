// A simulated node: what assembleNode makes of simulated ports, with checks and wrong parts hung on where it lets us.

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { assembleNode, type NodeCore } from '../../src/compose/assemble-node.js';
import type { NodeHooks } from '../../src/compose/hooks.js';
import type { NodePorts, Replacements } from '../../src/compose/ports.js';
import type { Clock } from '../../src/domain/clock.js';
import type { Config } from '../../src/config.js';
import { CarillonError } from '../../src/domain/errors.js';
import type { Message } from '../../src/domain/message.js';
import type { NodeIntake } from '../../src/intake/node-intake.js';
import type { EpochAuthority } from '../../src/membership/fencing.js';
import type { Acceptance } from '../../src/postgres/messages/accepts.js';
import type { ShardHolder } from '../../src/membership/shard-holder.js';
import type { Locks } from '../../src/membership/shard-lock-ranges.js';
import { redisClient, subscriberClient, postgresClient } from './clients.js';
import type { Destinations } from './destinations.js';
import { Link, type LinkTroubles } from './link.js';
import { Process } from './process.js';
import type { RedisServer } from './redis-server.js';
import type { PostgresServer } from './postgres-server.js';
import { settingsOf, TIMES } from './times.js';
import { within } from './turns.js';
import type { World } from './world.js';

export { TIMES } from './times.js';

/** What the nodes of a simulation share. */
export interface Environment {
  readonly world: World;
  readonly shards: number;
  readonly redis: RedisServer;
  readonly lockServers: readonly RedisServer[];
  readonly postgres: PostgresServer;
  readonly destinations: Destinations;
  readonly troubles: LinkTroubles;
  /** Settings of nodes that differ from those of other simulations. */
  readonly config: Partial<Config>;
  /** Told what nodes do, for the checks. */
  readonly watch: NodeWatch;
  /** Puts wrong parts in the place of right ones, to see that it is noticed. */
  readonly mutant?: Mutant;
}

export interface NodeWatch {
  onClaimSent(node: SimulatedNode, shard: number, epoch: number): void;
  /** A script is sent to the data Redis, with this first key. */
  onCommand(node: SimulatedNode, script: string, key: string): void;
  /** A takeover begins; the promise is its end. */
  onTaking(node: SimulatedNode, shards: readonly number[], taking: Promise<unknown>): void;
  /** A client was told that its message is accepted, or whose repeat it is. */
  onAccepted(node: SimulatedNode, message: Message, acceptance: Acceptance): void;
  /** A client was told that its message is canceled. */
  onCanceled(node: SimulatedNode, id: string): void;
  onTrouble(node: SimulatedNode, text: string): void;
}

/** Wrong parts in the place of right ones: of servers, of a node's ports, and of what is made of them. */
export interface Mutant extends Omit<Replacements, 'authority' | 'fencing'> {
  readonly redis?: (redis: RedisServer) => void;
  readonly postgres?: (postgres: PostgresServer) => void;
  readonly redisClient?: (client: Redis) => Redis;
  readonly authority?: (authority: EpochAuthority, redis: RedisServer, process: Process) => EpochAuthority;
}

/** That a store is unavailable is told as an error, and is none of the node. */
const AWAY_LINES = /^PostgreSQL is unavailable|^Redis accepts no work/;

export class SimulatedNode {
  readonly process: Process;
  readonly links: readonly Link[];
  readonly redisLink: Link;
  readonly #around: Environment;
  readonly #ports: NodePorts;
  readonly #core: NodeCore;
  hasJoined = false;
  /** Told when it ends because it could not join. */
  onFailedStart = (): void => undefined;
  isStopping = false;

  constructor(around: Environment, id: string) {
    const { world, redis, postgres: table, lockServers, troubles } = around;
    this.#around = around;
    const process = new Process(world, id, 1 + world.random.within(-0.003, 0.003));
    this.process = process;
    const ahead = world.random.within(-3, 3);

    const redisLink = new Link({
      process,
      server: redis,
      timeoutMs: TIMES.redisTimeoutMs,
      troubles,
      onClosed: () => client.emit('close'),
      onReady: () => client.emit('ready'),
    });
    const subscriberLink = new Link({
      process,
      server: redis,
      timeoutMs: TIMES.redisTimeoutMs,
      troubles,
      onReady: () => subscriber.onReady(),
    });
    const subscriber = subscriberClient(subscriberLink, redis);
    const postgresLink = new Link({ process, server: table, timeoutMs: TIMES.postgresTimeoutMs, troubles });
    const lockLinks = lockServers.map(
      (server) => new Link({ process, server, timeoutMs: TIMES.lockTimeoutMs, troubles }),
    );
    this.redisLink = redisLink;
    this.links = [redisLink, subscriberLink, postgresLink, ...lockLinks];

    const client = redisClient(redisLink, redis, (script, [key = '']) => around.watch.onCommand(this, script, key));
    const database = postgresClient(postgresLink, table);
    this.#ports = {
      config: settingsOf(id.slice(0, id.lastIndexOf('-')), around.shards, around.config),
      identity: id,
      database,
      accepts: database,
      redis: around.mutant?.redisClient?.(client) ?? client,
      subscriber: subscriber.client,
      lockServers: lockLinks.map((link, index) => redisClient(link, lockServers[index] ?? redis)),
      clock: { nowMs: () => redis.exactMs() + ahead },
      time: process.time,
      random: (bytes) => world.random.bytes(bytes),
      http: around.destinations.clientOf(process),
      log: this.#logger(),
      hooks: this.#hooks(),
      replace: this.#replacements(),
    };
    this.#core = within(process.time, () => assembleNode(this.#ports));
  }

  get id(): string {
    return this.process.id;
  }

  get locks(): Locks {
    return this.#core.locks;
  }

  get holder(): ShardHolder {
    return this.#core.holder;
  }

  /** Joins; a node that cannot ends. */
  start(): void {
    this.#turn(async () => {
      try {
        await this.#core.start();
      } catch (error) {
        if (this.hasJoined) throw error;
        this.kill();
        this.onFailedStart();
      }
    });
  }

  stop(): void {
    this.isStopping = true;
    this.process.world.note(`${this.id} is told to stop`);
    this.#turn(async () => {
      await this.#core.stop();
      this.#disappear();
    });
  }

  kill(): void {
    this.#disappear();
  }

  #disappear(): void {
    this.process.kill();
    const { redis, postgres: table, lockServers } = this.#around;
    for (const link of this.links) {
      for (const server of [redis, table, ...lockServers]) server.forget(link);
    }
  }

  get clock(): Clock {
    return this.#ports.clock;
  }

  /** A client's request. One that fails is told to try again; what it asked for may have been done nevertheless. */
  ask(request: (intake: NodeIntake) => Promise<unknown>, onFailed: () => void = () => undefined): void {
    this.#turn(async () => {
      try {
        await request(this.#core.intake);
      } catch (error) {
        if (!(error instanceof CarillonError)) throw error;
        onFailed();
      }
    });
  }

  /** A client's cancel. */
  cancel(id: string): void {
    this.ask(async (intake) => {
      for (const canceled of await intake.cancel(1, [id])) this.#around.watch.onCanceled(this, canceled);
    });
  }

  #hooks(): NodeHooks {
    const nothing = (): void => undefined;
    return {
      membership: {
        onHandedOver: nothing,
        onAcquired: nothing,
        onExpired: nothing,
        onView: () => {
          this.hasJoined = true;
        },
      },
      onSwept: nothing,
      onFenced: nothing,
      onFired: nothing,
      onAccept: nothing,
      onTier: nothing,
      onClaim: nothing,
      onAttempt: nothing,
      onGroup: nothing,
    };
  }

  /** What tells the checks of a node's doings, around what a mutation puts there. */
  #replacements(): Replacements {
    const { watch, redis, mutant: mutant = {} } = this.#around;
    return {
      ...mutant,
      authority: (authority) => mutant.authority?.(authority, redis, this.process) ?? authority,
      fencing: (fencing) => ({
        acquire: (shards) => {
          const taking = fencing.acquire(shards);
          watch.onTaking(this, shards, taking);
          return taking;
        },
        renew: (held) => fencing.renew(held),
        superseded: (held) => fencing.superseded(held),
      }),
      actorParts: (made) => {
        const parts = mutant.actorParts?.(made) ?? made;
        const { queue } = parts;
        return {
          ...parts,
          queue: {
            claim: (shard, epoch, limit) => {
              watch.onClaimSent(this, shard, epoch);
              return queue.claim(shard, epoch, limit);
            },
            settle: (shard, settlements) => queue.settle(shard, settlements),
            extendVisibility: (shard, claims) => queue.extendVisibility(shard, claims),
          },
        };
      },
    };
  }

  #turn(work: () => Promise<unknown>): void {
    const { world, watch } = this.#around;
    this.process.deliver(world.nowMs, () => {
      work().catch((error: unknown) => watch.onTrouble(this, String(error)));
    });
  }

  /** What a node logs is part of the history; an error of its own is a violation. */
  #logger(): Logger {
    const { world, watch } = this.#around;
    const line = (given: object | string, text = ''): void => {
      if (typeof given === 'string') {
        world.note(`${this.id} ${given}`);
        return;
      }
      const { err, ...rest } = given as { err?: unknown };
      world.note(`${this.id} ${text} ${JSON.stringify(rest)}${err instanceof Error ? ` ${err.message}` : ''}`);
    };
    const log = {
      debug: () => undefined,
      info: line,
      warn: line,
      error: (fields: { err?: unknown }, text: string) => {
        const { err } = fields;
        if (AWAY_LINES.test(text)) line(fields, text);
        else watch.onTrouble(this, `${text}: ${err instanceof Error ? (err.stack ?? err.message) : String(err)}`);
      },
      child: () => log,
    };
    return log as unknown as Logger;
  }
}
