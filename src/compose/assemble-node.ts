// Puts the working parts of a node together: the one place for production and for the simulator, which differ in their ports alone.

import type { ActorParts } from '../actor/actor-parts.js';
import type { Slots } from '../actor/slots.js';
import type { Sweeper } from '../actor/sweeper.js';
import type { NodeIntake } from '../intake/node-intake.js';
import { Recorder } from '../postgres/messages/recorder.js';
import { readShards } from '../postgres/shards/epochs.js';
import { Offers, type Wake } from '../redis/offers.js';
import { watchRedis } from '../redis/redis-watch.js';
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
  readonly offers: Offers;
  readonly intake: NodeIntake;
  readonly slots: Slots;
  /** Joins the cluster, whose stores must be within reach: resolves when this node has what is due to it. */
  start(): Promise<void>;
  /** Drains and hands every shard back. May be called again; then it waits for the same end. */
  leave(): Promise<void>;
  /** Leaves if it has not, and ends everything that goes on by itself. The ports are for who made them to close. */
  stop(): Promise<void>;
}

export function assembleNode(ports: NodePorts): NodeCore {
  const { config, redis, clock, replace = {} } = ports;
  const queue = new ShardQueue(redis, config.CARILLON_REDIS_PREFIX, queueTimes(config), clock);
  const sweeper = makeSweeper(ports, queue);
  const recorder = makeRecorder(ports, () => sweeper.hasten());
  const cluster = makeCluster(ports, { queue, sweeper, recorder });
  const offers = makeOffers(ports, queue, cluster.wake);
  const intake = makeIntake(ports, recorder, offers);
  const made = actorParts(ports, { queue, offers, recorder, cluster });
  const parts = replace.actorParts?.(made) ?? made;
  const life = new NodeLife(ports, { ...cluster, offers, recorder }, parts);
  return {
    ...cluster,
    queue,
    sweeper,
    recorder,
    offers,
    intake,
    slots: parts.slots,
    start: () => life.start(),
    leave: () => life.leave(),
    stop: () => life.stop(),
  };
}

function makeRecorder({ config, database, accepts, clock, hooks, log }: NodePorts, onBack: () => void): Recorder {
  return new Recorder(database, clock, {
    accepts,
    deduplicationMs: config.CARILLON_DEDUPLICATION_MS,
    idempotencyMs: config.CARILLON_IDEMPOTENCY_MS,
    onAvailability: (available, error) => {
      if (!available) {
        log.error({ err: error }, 'the table is away: claims stop, outcomes are held');
        return;
      }
      log.info('the table is back');
      onBack();
    },
    onRefusal: (error, id) => log.error({ err: error, message: id }, 'the table refused what a destination answered'),
    onGroup: hooks.onGroup,
  });
}

function makeOffers({ log }: NodePorts, queue: ShardQueue, wake: Wake): Offers {
  return new Offers(queue, wake, {
    onFault: (error) => log.error({ err: error }, 'an offer to the queue failed'),
    onRefused: (error) => log.error({ err: error }, 'the queue takes no work: accepts go to the table only'),
    onCaughtUp: (leftToSweeps) => log.info({ leftToSweeps }, 'the queue takes work again'),
  });
}

type LivingParts = NodeCluster & { readonly offers: Offers; readonly recorder: Recorder };

/** What begins and ends with a node's time in the cluster. */
class NodeLife {
  readonly #ports: NodePorts;
  readonly #parts: LivingParts;
  readonly #actorParts: ActorParts;
  #hasStarted = false;
  #unwatch = (): void => undefined;
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
    if (neverGranted) await locks.vouchForEmptyServers();
    holder.start(this.#actorParts);
    this.#unwatch = this.#watchRedis();
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
    // What cannot be recorded by then, because the table is away, is left to the next owner.
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
      await this.#parts.offers.stop();
      this.#unwatch();
    }
  }

  /** After Redis was away every shard is fenced anew before its payloads are believed again, then the offers that waited are made. */
  #watchRedis(): () => void {
    const { redis, log } = this.#ports;
    const { holder, membership, offers } = this.#parts;
    return watchRedis(redis, {
      onAway: () => holder.redisIsAway(),
      onBack: async () => {
        await holder.redisIsBack();
        // What was given up meanwhile is taken again.
        membership.nudge();
        await offers.retry();
      },
      onFailure: (error) => log.warn({ err: error }, 'the queue is back, its shards could not be fenced yet'),
    });
  }
}
