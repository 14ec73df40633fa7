// Assembles the core of a node: the same for production and for the simulator, which differ only in their ports.

import type { ActorParts } from '../actor/actor-parts.js';
import type { Semaphore } from '../actor/semaphore.js';
import type { Sweeper } from '../actor/sweeper.js';
import type { NodeIntake } from '../intake/node-intake.js';
import { Recorder } from '../postgres/messages/recorder.js';
import { readShards } from '../postgres/shards/epochs.js';
import { Enqueuer, type Wake } from '../redis/enqueuer.js';
import { shardKeys } from '../redis/keys.js';
import { type RedisWatch, watchRedis } from '../redis/redis-watch.js';
import { ShardQueue } from '../redis/shard-queue.js';
import { actorParts } from './actor-parts.js';
import { makeCluster, type NodeCluster } from './cluster.js';
import { makeIntake } from './intake.js';
import type { NodePorts } from './ports.js';
import { makeSweeper } from './sweeper.js';
import { queueTimes } from './times.js';

export interface NodeCore extends NodeCluster {
  readonly queue: ShardQueue;
  readonly sweeper: Sweeper;
  readonly recorder: Recorder;
  readonly enqueuer: Enqueuer;
  readonly intake: NodeIntake;
  readonly semaphore: Semaphore;
  /**
   * Joins the cluster, whose stores must be available; resolves when this node owns the shards that the plan assigns to
   * it.
   */
  start(): Promise<void>;
  /** Drains and hands over every shard. May be called again; then it waits for the same end. */
  leave(): Promise<void>;
  /** Leaves if it has not, and stops everything that runs in the background. The creator of the ports closes them. */
  stop(): Promise<void>;
}

export function assembleNode(ports: NodePorts): NodeCore {
  const { config, redis, clock, replace = {} } = ports;
  const queue = new ShardQueue(redis, config.CARILLON_REDIS_PREFIX, queueTimes(config), clock);
  const sweeper = makeSweeper(ports, queue);
  const recorder = makeRecorder(ports, () => sweeper.sweepSoon());
  const keyOf = (shard: number): string => shardKeys(config.CARILLON_REDIS_PREFIX, shard).state;
  const cluster = makeCluster(ports, {
    queue,
    sweeper,
    recorder,
    isRedisAvailable: (shard) => watch.isAvailable(keyOf(shard)),
  });
  const enqueuer = makeEnqueuer(ports, queue, cluster.wake);
  const watch = makeWatch(ports, { ...cluster, enqueuer, keyOf });
  const intake = makeIntake(ports, recorder, enqueuer);
  const made = actorParts(ports, { queue, enqueuer, recorder, cluster });
  const parts = replace.actorParts?.(made) ?? made;
  const life = new NodeLife(ports, { ...cluster, enqueuer, recorder, watch }, parts);
  return {
    ...cluster,
    queue,
    sweeper,
    recorder,
    enqueuer,
    intake,
    semaphore: parts.semaphore,
    start: () => life.start(),
    leave: () => life.leave(),
    stop: () => life.stop(),
  };
}

function makeRecorder(ports: NodePorts, onBack: () => void): Recorder {
  const { config, database, accepts, clock, time, hooks, log } = ports;
  return new Recorder(database, clock, {
    time,
    accepts,
    deduplicationMs: config.CARILLON_DEDUPLICATION_MS,
    idempotencyMs: config.CARILLON_IDEMPOTENCY_MS,
    onAvailability: (available, error) => {
      if (!available) {
        log.error({ err: error }, 'PostgreSQL is unavailable: claims stop, outcomes are kept in memory');
        return;
      }
      log.info('PostgreSQL is available again');
      onBack();
    },
    onRefusal: (error, id) => log.error({ err: error, message: id }, 'PostgreSQL refused the outcome of a message'),
    onGroup: hooks.onGroup,
  });
}

function makeEnqueuer({ log, time }: NodePorts, queue: ShardQueue, wake: Wake): Enqueuer {
  return new Enqueuer(queue, wake, time, {
    onError: (error) => log.error({ err: error }, 'an entry could not be enqueued in Redis'),
    onRefused: (error) => log.error({ err: error }, 'Redis accepts no work: messages are accepted in PostgreSQL only'),
    onCaughtUp: (leftToSweeps) => log.info({ leftToSweeps }, 'Redis accepts work again'),
  });
}

/**
 * Fences the shards of a Redis server that was unavailable again before their payloads are used, then enqueues the
 * entries that waited.
 */
function makeWatch(
  { redis, time, log }: NodePorts,
  {
    holder,
    membership,
    enqueuer,
    keyOf,
  }: NodeCluster & { readonly enqueuer: Enqueuer; readonly keyOf: (shard: number) => string },
): RedisWatch {
  return watchRedis(redis, time, {
    onUnavailable: (isConcerned) => holder.onRedisUnavailable((shard) => isConcerned(keyOf(shard))),
    onBack: async (isConcerned) => {
      await holder.onRedisBack((shard) => isConcerned(keyOf(shard)));
      // Shards that were released meanwhile are acquired again.
      membership.nudge();
      await enqueuer.retry();
    },
    onFailure: (error) => log.warn({ err: error }, 'Redis is available again: its shards could not be fenced yet'),
  });
}

type LivingParts = NodeCluster & {
  readonly enqueuer: Enqueuer;
  readonly recorder: Recorder;
  readonly watch: RedisWatch;
};

/** The parts that start and stop with a node's membership of the cluster. */
class NodeLife {
  readonly #ports: NodePorts;
  readonly #parts: LivingParts;
  readonly #actorParts: ActorParts;
  #hasStarted = false;
  #left: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;

  constructor(ports: NodePorts, parts: LivingParts, ofActors: ActorParts) {
    this.#ports = ports;
    this.#parts = parts;
    this.#actorParts = ofActors;
  }

  async start(): Promise<void> {
    const { database, identity } = this.#ports;
    const { locks, holder, channels, membership } = this.#parts;
    this.#hasStarted = true;
    const neverGranted = (await readShards(database)).every(({ node }) => node === null);
    if (neverGranted) await locks.bootstrapEmptyServers();
    holder.start(this.#actorParts);
    this.#parts.watch.start();
    await channels.listen({
      onWake: (shard, dueAtMs) => void holder.wake(shard, dueAtMs),
      onFree: () => membership.nudge(),
      onDrain: (id) => {
        if (id === identity) void membership.drain();
      },
      onGap: () => holder.wakeAll(),
    });
    await membership.start();
  }

  leave(): Promise<void> {
    return (this.#left ??= this.#leave());
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #leave(): Promise<void> {
    if (!this.#hasStarted) return;
    const { config, time } = this.#ports;
    // Outcomes that cannot be recorded by then, because PostgreSQL is unavailable, are left to the next owner.
    const cancelLimit = time.after(config.CARILLON_DRAIN_MS, () => this.#parts.recorder.stop());
    try {
      await this.#parts.membership.stop();
    } finally {
      cancelLimit();
    }
  }

  async #stop(): Promise<void> {
    try {
      await this.leave();
    } finally {
      this.#parts.recorder.stop();
      await this.#parts.enqueuer.stop();
      this.#parts.watch.stop();
    }
  }
}
