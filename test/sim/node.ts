// A simulated node: the real membership, actors, sweeps and recorder on simulated clients, put together as compose.ts does it.

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { ActorParts } from '../../src/actor/actor-parts.js';
import { Admission } from '../../src/actor/admission.js';
import { Attempts } from '../../src/actor/attempts.js';
import { FailingEntries } from '../../src/actor/failing-entries.js';
import { Semaphore } from '../../src/actor/semaphore.js';
import { Sweeper } from '../../src/actor/sweeper.js';
import { RECHECK_AFTER_MS } from '../../src/domain/cancel-times.js';
import { CarillonError } from '../../src/domain/errors.js';
import { ABANDONED_AFTER_MS } from '../../src/compose/times.js';
import { ID_RANDOM_BYTES, messageId } from '../../src/domain/ids.js';
import type { Message } from '../../src/domain/message.js';
import { shardOfMessage } from '../../src/domain/shard.js';
import { Cancellation } from '../../src/intake/cancellation.js';
import { Fencing, type EpochAuthority } from '../../src/membership/fencing.js';
import { Membership } from '../../src/membership/membership.js';
import { Roster } from '../../src/membership/roster.js';
import { ShardHolder } from '../../src/membership/shard-holder.js';
import { ShardLocks } from '../../src/membership/shard-locks.js';
import { Channels } from '../../src/redis/channels.js';
import { Enqueuer } from '../../src/redis/enqueuer.js';
import { encodePayload } from '../../src/redis/payload.js';
import { watchRedis } from '../../src/redis/redis-watch.js';
import { ShardQueue } from '../../src/redis/shard-queue.js';
import { Subscriptions } from '../../src/redis/subscriptions.js';
import {
  endAbandoned,
  grantEpochs,
  supersededShards,
  supersedeEpochs,
  renewEpochs,
} from '../../src/postgres/shards/epochs.js';
import { isUnavailable, type Database } from '../../src/postgres/database.js';
import { Recorder } from '../../src/postgres/messages/recorder.js';
import { redisClient, subscriberClient, postgresClient } from './clients.js';
import type { Destinations } from './destinations.js';
import { Link, type LinkTroubles } from './link.js';
import { Process } from './process.js';
import type { RedisServer } from './redis-server.js';
import type { PostgresServer } from './postgres-server.js';
import { QUEUE_TIMES, SWEEPS, TIMES } from './times.js';

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
  /** A client was told that its message is canceled. */
  onCanceled(node: SimulatedNode, id: string): void;
  onTrouble(node: SimulatedNode, text: string): void;
}

type LocksOfMembership = Pick<ShardLocks, 'locked' | 'acquire' | 'extend' | 'release' | 'troubleMs' | 'probe'>;

export interface Mutant {
  readonly redis?: (redis: RedisServer) => void;
  readonly postgres?: (postgres: PostgresServer) => void;
  readonly parts?: (parts: ActorParts) => ActorParts;
  readonly authority?: (authority: EpochAuthority, redis: RedisServer, process: Process) => EpochAuthority;
  readonly locks?: (locks: ShardLocks, holder: ShardHolder) => LocksOfMembership;
  readonly cancels?: (enqueuer: Enqueuer) => Pick<Enqueuer, 'cancel' | 'enqueue'>;
  readonly roster?: (roster: Roster) => Pick<Roster, 'heartbeat' | 'setOwner' | 'clearOwner' | 'leave'>;
  readonly reconnect?: 'unnoticed';
}

const PREFIX = 'carillon';
const INLINE_MAX_BYTES = 1_000;
/** So many messages are too large for a payload. */
const IS_LARGE = 0.2;
const SMALL = Buffer.from('x');
const LARGE = Buffer.alloc(INLINE_MAX_BYTES + 1, 'x');

export class SimulatedNode {
  readonly process: Process;
  readonly locks: ShardLocks;
  readonly holder: ShardHolder;
  readonly membership: Membership;
  readonly links: readonly Link[];
  readonly redisLink: Link;
  readonly recorder: Recorder;
  readonly #around: Environment;
  readonly #queue: ShardQueue;
  readonly #database: Database;
  readonly #enqueuer: Enqueuer;
  readonly #cancellation: Cancellation;
  readonly #channels: Channels;
  readonly #parts: ActorParts;
  readonly #clock: { nowMs(): number };
  readonly #redis: Redis;
  hasJoined = false;
  isStopping = false;

  constructor(around: Environment, id: string) {
    const { world, redis, postgres: table, lockServers, troubles } = around;
    this.#around = around;
    const process = new Process(world, id, 1 + world.random.between(-0.003, 0.003));
    this.process = process;
    const ahead = world.random.between(-3, 3);
    this.#clock = { nowMs: () => redis.exactMs() + ahead };
    const clock = this.#clock;
    const { time } = process;
    const log = this.#logger();

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
    this.#redis = client;
    const database = postgresClient(postgresLink, table);
    this.#database = database;
    this.#queue = new ShardQueue(client, PREFIX, QUEUE_TIMES, clock);
    const queue = this.#queue;
    this.recorder = new Recorder(database, clock, {
      deduplicationMs: 60_000,
      idempotencyMs: 60_000,
      onAvailability: (isAvailable) => {
        if (isAvailable) sweeper.sweepSoon();
      },
      onRefusal: (error) => around.watch.onTrouble(this, `PostgreSQL refused an outcome: ${String(error)}`),
    });
    const { recorder } = this;
    const sweeper = new Sweeper(
      {
        database,
        queue,
        clock,
        settings: SWEEPS,
      },
      { shards: around.shards, promoteEveryMs: TIMES.promoteEveryMs, rescueEveryMs: TIMES.rescueEveryMs },
      log,
    );
    const channels = new Channels(client, new Subscriptions(subscriber.client), PREFIX);
    this.#channels = channels;
    this.locks = new ShardLocks(
      lockLinks.map((link, index) => redisClient(link, lockServers[index] ?? redis)),
      { keyPrefix: `${PREFIX}:{locks}:`, leaseMs: TIMES.leaseMs },
      time,
    );
    const authority: EpochAuthority = {
      grant: (node, shards) => grantEpochs(database, node, shards),
      renew: (node, held) => renewEpochs(database, node, held),
      supersede: (node, stored) => supersedeEpochs(database, node, stored),
      superseded: (held) => supersededShards(database, held),
      endAbandoned: (shards) => endAbandoned(database, shards, ABANDONED_AFTER_MS),
    };
    const mutant = around.mutant ?? {};
    const fencing = new Fencing({
      authority: mutant.authority?.(authority, redis, process) ?? authority,
      queue,
      node: id,
      log,
    });
    this.holder = new ShardHolder({
      fencing: {
        acquire: (shards) => {
          const taking = fencing.acquire(shards);
          around.watch.onTaking(this, shards, taking);
          return taking;
        },
        renew: (held) => fencing.renew(held),
        superseded: (held) => fencing.superseded(held),
      },
      sweeper,
      channels,
      time,
      log,
      settings: {
        shards: around.shards,
        extendVisibilityMs: TIMES.extendVisibilityMs,
        drainMs: TIMES.drainMs,
        handoverMs: TIMES.handoverMs,
      },
    });
    const roster = new Roster(client, {
      prefix: PREFIX,
      shards: around.shards,
      leaseMs: TIMES.leaseMs,
      deathsRememberedMs: TIMES.deathsRememberedMs,
    });
    this.membership = new Membership({
      locks: mutant.locks?.(this.locks, this.holder) ?? this.locks,
      roster: mutant.roster?.(roster) ?? roster,
      holder: this.holder,
      channels,
      time,
      isPostgresAvailable: () => recorder.isAvailable,
      probePostgres: (quietMs, withinMs) => recorder.probe(quietMs, withinMs),
      log,
      events: { onHandedOver: () => undefined, onAcquired: () => undefined, onExpired: () => undefined },
      settings: {
        id,
        name: id.slice(0, id.lastIndexOf('-')),
        leaseMs: TIMES.leaseMs,
        heartbeatMs: TIMES.heartbeatMs,
        joinGraceMs: TIMES.joinGraceMs,
        handoversMax: TIMES.handoversMax,
      },
    });
    this.#enqueuer = new Enqueuer(queue, (shard, dueAtMs) => this.#wake(shard, dueAtMs), {
      onError: (error) => around.watch.onTrouble(this, `an offer failed: ${String(error)}`),
      onRefused: () => undefined,
      onCaughtUp: () => undefined,
    });
    this.#cancellation = new Cancellation({
      database,
      enqueuer: mutant.cancels?.(this.#enqueuer) ?? this.#enqueuer,
      clock,
      time,
      settings: { idempotencyMs: 60_000, payloadWithinMs: 3_600_000, inlineMaxBytes: INLINE_MAX_BYTES },
    });
    const parts = this.#actorParts(log);
    this.#parts = mutant.parts?.(parts) ?? parts;
  }

  get id(): string {
    return this.process.id;
  }

  /** Joins, as compose.ts does once its clients are connected; a node that cannot ends. */
  start(): void {
    this.#turn(async () => {
      this.holder.start(this.#parts);
      try {
        this.#watchRedis();
        await this.#channels.listen({
          onWake: (shard, dueAtMs) => void this.holder.wake(shard, dueAtMs),
          onFree: () => this.membership.nudge(),
          onDrain: () => undefined,
          onGap: () => this.holder.wakeAll(),
        });
      } catch {
        this.kill();
        return;
      }
      this.hasJoined = true;
      this.#fireOn();
      await this.membership.start();
    });
  }

  /** Says that the lock servers need not wait; as the first node of a new cluster does. */
  bootstrap(): void {
    this.#turn(() => this.locks.bootstrapEmptyServers());
  }

  stop(): void {
    this.isStopping = true;
    this.process.world.note(`${this.id} is told to stop`);
    this.#turn(async () => {
      this.process.time.after(TIMES.drainMs, () => this.recorder.stop());
      await this.membership.stop();
      this.recorder.stop();
      await this.#enqueuer.stop();
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

  /** A client's message: committed, then offered. Returns its id. */
  publish(dueInMs: number): string {
    const { world, shards } = this.#around;
    const nowMs = this.#clock.nowMs();
    const id = messageId(nowMs + dueInMs, world.random.bytes(ID_RANDOM_BYTES));
    const body = world.random.happens(IS_LARGE) ? LARGE : SMALL;
    const message = {
      ...makeMessage(id, shardOfMessage(id, shards), nowMs, Math.ceil(nowMs + dueInMs)),
      body,
    };
    this.#turn(async () => {
      try {
        await this.recorder.accept([{ message, keys: [] }]);
      } catch {
        // The client is told to try again; it may have been committed nevertheless.
        return;
      }
      const { shard, dueAtMs, createdAtMs } = message;
      this.#enqueuer.enqueue(shard, { id, dueAtMs, payload: encodePayload(message, INLINE_MAX_BYTES), createdAtMs });
    });
    return id;
  }

  /** A client's cancel. */
  cancel(id: string): void {
    this.#turn(async () => {
      try {
        for (const canceled of await this.#cancellation.cancel(1, [id])) this.#around.watch.onCanceled(this, canceled);
      } catch (error) {
        // The client is told to try again.
        if (!(error instanceof CarillonError)) throw error;
      }
    });
  }

  /** Schedules are not simulated, but what firing them locks is: the shard's row, until the occurrences are committed. */
  #fireOn(): void {
    const { world, postgres: table, watch } = this.#around;
    this.process.time.after(TIMES.fireEveryMs * world.random.between(0.5, 1.5), () => {
      if (this.isStopping) return;
      const shard = world.random.pick(this.holder.owned());
      this.#fireOn();
      if (shard === undefined || !this.recorder.isAvailable) return;
      const epoch = table.shards[shard]?.epoch ?? 0;
      this.#database
        .transaction(async (connection) => {
          await connection.run('fire-schedules', [[shard], [epoch]]);
          await connection.run('insert-attempts');
        })
        .catch((error: unknown) => {
          if (!isUnavailable(error)) watch.onTrouble(this, `a fire failed: ${String(error)}`);
        });
    });
  }

  #actorParts(log: Logger): ActorParts {
    const { world, watch, destinations } = this.#around;
    const { recorder, process } = this;
    const queue = this.#queue;
    const clock = this.#clock;
    const limits = { capacity: 200, perTenant: 200, perHost: 100, waitingPerHost: 50 };
    return {
      queue: {
        claim: (shard, epoch, limit) => {
          watch.onClaimSent(this, shard, epoch);
          return queue.claim(shard, epoch, limit);
        },
        settle: (shard, settlements) => queue.settle(shard, settlements),
        extendVisibility: (shard, claims) => queue.extendVisibility(shard, claims),
      },
      enqueuer: this.#enqueuer,
      recorder,
      attempts: new Attempts({
        http: destinations.clientOf(process),
        recorder,
        clock,
        random: (bytes) => world.random.bytes(bytes),
        signingKey: () => Promise.resolve('sig_key'),
        settings: {
          node: this.id,
          shards: this.#around.shards,
          defaultTimeoutMs: 5_000,
          keptBytes: 0,
          keptHeaderBytes: 0,
          answerBytes: 0,
          retriedAnswerBytes: 0,
          copiedSourceBytes: 0,
          depthMax: 16,
          leastRetryDelayMs: 0,
        },
      }),
      firing: { fire: () => Promise.reject(new Error('there are no schedules in the simulation')) },
      semaphore: new Semaphore(200),
      admission: new Admission(limits, () => process.time.monotonicMs()),
      faulty: new FailingEntries({ recorder, enqueuer: this.#enqueuer, clock, log, mostTries: 5 }),
      clock,
      time: process.time,
      log,
      settings: { claimBatch: 20, idleClaimMs: TIMES.idleClaimMs, recheckAfterMs: RECHECK_AFTER_MS },
      isTrusted: (shard) => this.locks.isTrusted(shard),
      wake: (shard, dueAtMs) => this.#wake(shard, dueAtMs),
      onFenced: (shard) => this.membership.fenced(shard),
      renewEpoch: (shard, refusedEpoch) => this.holder.renewEpoch(shard, refusedEpoch),
      onAttempt: () => undefined,
    };
  }

  #wake(shard: number, dueAtMs: number): void {
    if (!this.holder.wake(shard, dueAtMs)) this.#channels.wake(shard, dueAtMs);
  }

  /** As compose.ts watches Redis. */
  #watchRedis(): void {
    const { mutant: spoil, world } = this.#around;
    if (spoil?.reconnect === 'unnoticed') return;
    watchRedis(this.#redis, {
      onUnavailable: () => this.holder.onRedisUnavailable(),
      onBack: async () => {
        await this.holder.onRedisBack();
        world.note(`${this.id} has its shards fenced again`);
        this.membership.nudge();
        await this.#enqueuer.retry();
      },
      onFailure: () => undefined,
    });
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
    const line = (fields: object, text: string): void => {
      const { err, ...rest } = fields as { err?: unknown };
      world.note(`${this.id} ${text} ${JSON.stringify(rest)}${err instanceof Error ? ` ${err.message}` : ''}`);
    };
    const log = {
      debug: () => undefined,
      info: line,
      warn: line,
      error: (fields: { err?: unknown }, text: string) => {
        const { err } = fields;
        watch.onTrouble(this, `${text}: ${err instanceof Error ? (err.stack ?? err.message) : String(err)}`);
      },
      child: () => log,
    };
    return log as unknown as Logger;
  }
}

function makeMessage(id: string, shard: number, createdAtMs: number, dueAtMs: number): Message {
  return {
    id,
    tenantId: 1,
    shard,
    kind: 'message',
    scheduleId: null,
    occurrenceAtMs: null,
    idempotencyKey: null,
    sourceId: null,
    overlap: null,
    dueAtMs,
    createdAtMs,
    destination: `http://receiver-${shard % 4}.test/`,
    method: 'POST',
    headers: {},
    body: SMALL,
    maxRetries: 2,
    retryDelay: '700',
    timeoutMs: 5_000,
    callback: null,
    failureCallback: null,
    labels: [],
    redact: null,
    callerIp: null,
  };
}
