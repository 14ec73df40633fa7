// What goes wrong in a simulation: at random times, of every kind, and all of it over in the end.

import type { Checks, Disturbance } from './checks.js';
import { SimulatedNode, type Environment, TIMES } from './node.js';
import type { RedisServer } from './redis-server.js';
import type { Server } from './server.js';
import type { Transaction } from './postgres-transactions.js';

/** Most processes of one cluster at a time. */
const MAX_NODES = 5;
const MIN_NODES = 2;
/** A node that could not start is started again after so long. */
const START_AGAIN_MS = 1_000;
/** Time between faults, in the mean. */
const EVERY_MS = 2_200;
/** An answer that is not heard excuses a second delivery only while its message may be in flight. */
const AFTERMATH_MS = TIMES.visibilityMs + 5_000;

export type FaultKind =
  | 'freeze'
  | 'kill'
  | 'stop'
  | 'join'
  | 'lock server'
  | 'flush'
  | 'failover'
  | 'redis away'
  | 'stall'
  | 'break'
  | 'cut off'
  | 'table away'
  | 'freeze in transaction'
  | 'stop in transaction'
  | 'cut from one store';

export const EVERY_FAULT: readonly FaultKind[] = [
  ...(['freeze', 'freeze', 'freeze', 'kill', 'kill', 'stop', 'join', 'lock server', 'lock server', 'flush'] as const),
  ...(['failover', 'failover', 'redis away', 'stall', 'stall', 'stall', 'break', 'break', 'table away'] as const),
  ...(['freeze in transaction', 'freeze in transaction', 'cut from one store', 'cut from one store'] as const),
];

export class Faults {
  readonly #around: Environment;
  readonly #checks: Checks;
  readonly #kinds: readonly FaultKind[];
  readonly nodes: SimulatedNode[] = [];
  #born = 0;
  #isOver = false;
  #startingAgain = 0;
  /** What waits for a transaction to stand still. */
  #onStill: ((transaction: Transaction) => void) | null = null;
  readonly deaths = new Map<string, number>();
  /** How often something was struck. */
  count = 0;

  constructor(around: Environment, checks: Checks, kinds: readonly FaultKind[]) {
    this.#around = around;
    this.#checks = checks;
    this.#kinds = kinds;
    around.postgres.transactions.onStill = (transaction) => {
      if (!this.#isOver) this.#onStill?.(transaction);
    };
  }

  /** Nodes that are there, frozen or not. */
  get live(): SimulatedNode[] {
    return this.nodes.filter((node) => !node.process.isDead && !node.isStopping);
  }

  join(name = `n${this.#born}`): SimulatedNode {
    this.#born += 1;
    const node = new SimulatedNode(this.#around, `${name}-${String(this.#born).padStart(8, '0')}`);
    this.nodes.push(node);
    this.#around.world.note(`${node.id} joins`);
    node.onFailedStart = () => this.#startAgain(name);
    node.start();
    return node;
  }

  /** As a supervisor does with a process that ended by itself. */
  #startAgain(name: string): void {
    this.#startingAgain += 1;
    this.#around.world.after(START_AGAIN_MS, () => {
      this.#startingAgain -= 1;
      this.join(name);
    });
  }

  begin(): void {
    if (this.#kinds.length > 0) this.#next();
  }

  /** There are no new faults from now on, and at least two nodes. */
  end(): void {
    const { troubles, world } = this.#around;
    this.#isOver = true;
    world.note('no more faults');
    Object.assign(troubles, { lostRequest: 0, lostAnswer: 0, longDelay: 0 });
    while (this.live.length < MIN_NODES) this.join();
  }

  /** Whether what was done has passed: all are up, awake and joined, and hear each other. */
  get arePast(): boolean {
    const { redis, lockServers, postgres } = this.#around;
    const servers = [redis, postgres, ...lockServers].every((server) => server.isUp && !server.isFrozen);
    // What a dead node had sent may still be on its way, and says that it lives.
    const isQuiet = this.nodes.every(({ links }) => links.every((link) => !link.isStalled));
    return servers && isQuiet && this.#startingAgain === 0 && this.live.every(isWell);
  }

  #next(): void {
    const { world } = this.#around;
    world.after(-Math.log(1 - world.random.next()) * EVERY_MS, () => {
      if (this.#isOver) return;
      this.#strike(world.random.pickIfAny(this.#kinds) ?? 'freeze');
      this.#next();
    });
  }

  #strike(kind: FaultKind): void {
    const { world, redis, postgres } = this.#around;
    const { random } = world;
    const victim = random.pickIfAny(this.live);
    this.count += 1;
    switch (kind) {
      case 'freeze': {
        this.#freeze(victim, random.within(100, 3 * TIMES.leaseMs));
        return;
      }
      case 'kill': {
        this.#kill(victim);
        return;
      }
      case 'stop':
        if (this.live.length > MIN_NODES) victim?.stop();
        return;
      case 'join':
        if (this.live.length < MAX_NODES) this.join();
        return;
      case 'lock server': {
        this.#lockServer(random.pickIfAny(this.#around.lockServers));
        return;
      }
      case 'flush':
        redis.flush();
        {
          this.#disturb(null, 0);
          return;
        }
      case 'failover': {
        this.#failover();
        return;
      }
      case 'redis away': {
        const downMs = random.within(100, 6_000);
        redis.restart(downMs, 0);
        this.#disturb(null, downMs);
        return;
      }
      case 'stall': {
        this.#stall(victim);
        return;
      }
      case 'break':
        random.pickIfAny(victim?.links ?? [])?.reset();
        {
          this.#disturb(victim?.id ?? null, 0);
          return;
        }
      case 'cut off': {
        this.#cutOff(victim);
        return;
      }
      case 'freeze in transaction': {
        this.#withinTransaction(victim, () => this.#freeze(victim, random.within(500, 3 * TIMES.leaseMs)));
        return;
      }
      case 'stop in transaction': {
        this.#stopWithinTransaction(victim);
        return;
      }
      case 'cut from one store': {
        this.#cutFromOneStore(victim);
        return;
      }
      case 'table away': {
        const downMs = random.within(200, 5_000);
        postgres.kill();
        world.after(downMs, () => postgres.rise());
        this.#disturb(null, downMs);
        return;
      }
    }
  }

  #freeze(victim: SimulatedNode | undefined, durationMs: number): void {
    victim?.process.freeze(durationMs);
    this.#disturb(victim?.id ?? null, durationMs);
  }

  /** Strikes as soon as a transaction of the node stands still: before the first of its statements, between two, or before the commit. */
  #withinTransaction(victim: SimulatedNode | undefined, strike: (transaction: Transaction) => void): void {
    const least = this.#around.world.random.between(0, 1);
    this.#onStill = (transaction) => {
      if (transaction.link.process !== victim?.process || transaction.locks.size < least) return;
      this.#onStill = null;
      strike(transaction);
    };
  }

  /** Its shards go to others while a transaction of it, that hears nothing any more, holds on to one of them. */
  #stopWithinTransaction(victim: SimulatedNode | undefined): void {
    if (victim === undefined || this.live.length <= MIN_NODES) return;
    this.#onStill = (transaction) => {
      const holdsShard = [...transaction.locks.keys()].some((row) => row.startsWith('shard '));
      if (transaction.link.process !== victim.process || !holdsShard) return;
      this.#onStill = null;
      const durationMs = 2 * TIMES.leaseMs;
      this.#around.world.note(`${victim.id} hears nothing from PostgreSQL within a transaction`);
      transaction.link.stall(durationMs);
      this.#disturb(victim.id, durationMs);
      victim.stop();
    };
  }

  /** All its connections to one store, or to all lock servers, while the others go on: broken, or silent. */
  #cutFromOneStore(victim: SimulatedNode | undefined): void {
    const { world, redis, postgres, lockServers } = this.#around;
    const { random } = world;
    const store: readonly Server[] = random.pickIfAny<readonly Server[]>([[redis], [postgres], lockServers]) ?? [];
    const durationMs = random.within(TIMES.leaseMs / 2, 2.5 * TIMES.leaseMs);
    const isSilent = random.happens(0.5);
    const names = store.map(({ name }) => name).join(', ');
    world.note(`${victim?.id ?? ''} is cut off from ${names} for ${durationMs.toFixed(0)} ms`);
    for (const link of victim?.links ?? []) {
      if (!store.includes(link.server)) continue;
      link.stall(durationMs);
      if (!isSilent) link.reset();
    }
    this.#disturb(victim?.id ?? null, durationMs);
  }

  #kill(victim: SimulatedNode | undefined): void {
    if (victim === undefined || this.live.length <= 1) return;
    const { world } = this.#around;
    const name = victim.id.slice(0, victim.id.lastIndexOf('-'));
    this.deaths.set(name, (this.deaths.get(name) ?? 0) + 1);
    victim.kill();
    this.#disturb(victim.id, 0);
    if (world.random.happens(0.7)) {
      world.after(world.random.within(300, 8_000), () => {
        if (!this.#isOver && this.live.length < MAX_NODES) this.join(name);
      });
    }
  }

  #lockServer(server: RedisServer | undefined): void {
    const { world, redis } = this.#around;
    if (server === undefined || server === redis) return;
    const durationMs = world.random.within(200, 9_000);
    const how = world.random.between(0, 3);
    if (how === 0) server.freeze(durationMs);
    else if (how === 1) server.restart(durationMs, null);
    else if (how === 2) server.restart(durationMs, 0);
    else server.flush();
  }

  /** Another server takes the place of Redis's, without what was written last. */
  #failover(): void {
    const { world, redis } = this.#around;
    const downMs = world.random.within(50, 1_500);
    redis.restart(downMs, world.random.within(0, 2_000));
    this.#disturb(null, downMs);
  }

  #stall(victim: SimulatedNode | undefined): void {
    const { world } = this.#around;
    const durationMs = world.random.within(200, 2 * TIMES.leaseMs);
    world.note(`${victim?.id ?? ''} hears nothing from a server for ${durationMs.toFixed(0)} ms`);
    world.random.pickIfAny(victim?.links ?? [])?.stall(durationMs);
    this.#disturb(victim?.id ?? null, durationMs);
  }

  /** A node's connection to Redis breaks, and is not made again for a while. */
  #cutOff(victim: SimulatedNode | undefined): void {
    const { world } = this.#around;
    const durationMs = world.random.within(1_000, 2 * TIMES.leaseMs);
    victim?.redisLink.stall(durationMs);
    victim?.redisLink.reset();
    world.note(`${victim?.id ?? ''} is cut off from Redis for ${durationMs.toFixed(0)} ms`);
    this.#disturb(victim?.id ?? null, durationMs);
  }

  #disturb(node: string | null, durationMs: number): void {
    const { nowMs } = this.#around.world;
    const disturbance: Disturbance = { fromMs: nowMs, untilMs: nowMs + durationMs + AFTERMATH_MS, node };
    this.#checks.disturbances.push(disturbance);
  }
}

function isWell(node: SimulatedNode): boolean {
  return node.process.runs && node.hasJoined && node.links.every((link) => link.isOpen && !link.isStalled);
}
