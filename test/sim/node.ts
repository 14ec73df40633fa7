// A simulated node: the real membership, actors, sweeps and recorder on simulated clients, put together as compose.ts does it.

import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { ActorParts } from '../../src/actor/actor-parts.js';
import { Admission } from '../../src/actor/admission.js';
import { Attempts } from '../../src/actor/attempts.js';
import { FaultyEntries } from '../../src/actor/faulty-entries.js';
import { Slots } from '../../src/actor/slots.js';
import { Sweeper } from '../../src/actor/sweeper.js';
import { RECHECK_AFTER_MS } from '../../src/domain/cancel-times.js';
import { CarillonError } from '../../src/domain/errors.js';
import { ABANDONED_AFTER_MS } from '../../src/compose/times.js';
import { ID_CHANCE_BYTES, messageId } from '../../src/domain/ids.js';
import type { Message } from '../../src/domain/message.js';
import { shardOfMessage } from '../../src/domain/shard.js';
import { Cancellation } from '../../src/intake/cancellation.js';
import { Fencing, type EpochAuthority } from '../../src/membership/fencing.js';
import { Membership } from '../../src/membership/membership.js';
import { Roster } from '../../src/membership/roster.js';
import { ShardHolder } from '../../src/membership/shard-holder.js';
import { ShardLocks } from '../../src/membership/shard-locks.js';
import { Channels } from '../../src/redis/channels.js';
import { Offers } from '../../src/redis/offers.js';
import { encodePayload } from '../../src/redis/payload.js';
import { watchRedis } from '../../src/redis/redis-watch.js';
import { ShardQueue } from '../../src/redis/shard-queue.js';
import { Subscriptions } from '../../src/redis/subscriptions.js';
import {
  endAbandoned,
  grantEpochs,
  overtakenShards,
  overtakeEpochs,
  renewEpochs,
} from '../../src/postgres/shards/epochs.js';
import { isAway, type Database } from '../../src/postgres/database.js';
import { attemptColumns } from '../../src/postgres/messages/outcomes.js';
import { Recorder } from '../../src/postgres/messages/recorder.js';
import { redisClient, subscriberClient, tableClient } from './clients.js';
import type { Destinations } from './destinations.js';
import { Link, type LinkTroubles } from './link.js';
import { Process } from './process.js';
import type { RedisServer } from './redis-server.js';
import type { TableServer } from './table-server.js';
import { QUEUE_TIMES, SWEEPS, TIMES } from './times.js';

import type { World } from './world.js';

export { TIMES } from './times.js';

/** What the nodes of a simulation share. */
export interface Surroundings {
  readonly world: World;
  readonly shards: number;
  readonly redis: RedisServer;
  readonly lockServers: readonly RedisServer[];
  readonly table: TableServer;
  readonly destinations: Destinations;
  readonly troubles: LinkTroubles;
  /** Told what nodes do, for the checks. */
  readonly watch: NodeWatch;
  /** Puts wrong parts in the place of right ones, to see that it is noticed. */
  readonly spoil?: Spoil;
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

type LocksOfMembership = Pick<ShardLocks, 'held' | 'acquire' | 'extend' | 'release' | 'troubleMs' | 'probe'>;

export interface Spoil {
  readonly redis?: (redis: RedisServer) => void;
  readonly table?: (table: TableServer) => void;
  readonly parts?: (parts: ActorParts) => ActorParts;
  readonly authority?: (authority: EpochAuthority, redis: RedisServer, process: Process) => EpochAuthority;
  readonly locks?: (locks: ShardLocks, holder: ShardHolder) => LocksOfMembership;
  readonly cancels?: (offers: Offers) => Pick<Offers, 'cancel' | 'offer'>;
  readonly roster?: (roster: Roster) => Pick<Roster, 'beat' | 'own' | 'disown' | 'leave'>;
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
  readonly #around: Surroundings;
  readonly #queue: ShardQueue;
  readonly #database: Database;
  readonly #offers: Offers;
  readonly #cancellation: Cancellation;
  readonly #channels: Channels;
  readonly #parts: ActorParts;
  readonly #clock: { nowMs(): number };
  readonly #redis: Redis;
  hasJoined = false;
  isStopping = false;

  constructor(around: Surroundings, id: string) {
    const { world, redis, table, lockServers, troubles } = around;
    this.#around = around;
    const process = new Process(world, id, 1 + world.chance.between(-0.003, 0.003));
    this.process = process;
    const ahead = world.chance.between(-3, 3);
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
    const tableLink = new Link({ process, server: table, timeoutMs: TIMES.tableTimeoutMs, troubles });
    const lockLinks = lockServers.map(
      (server) => new Link({ process, server, timeoutMs: TIMES.lockTimeoutMs, troubles }),
    );
    this.redisLink = redisLink;
    this.links = [redisLink, subscriberLink, tableLink, ...lockLinks];

    const client = redisClient(redisLink, redis, (script, [key = '']) => around.watch.onCommand(this, script, key));
    this.#redis = client;
    const database = tableClient(tableLink, table);
    this.#database = database;
    this.#queue = new ShardQueue(client, PREFIX, QUEUE_TIMES, clock);
    const queue = this.#queue;
    this.recorder = new Recorder(database, clock, {
      deduplicationMs: 60_000,
      idempotencyMs: 60_000,
      onAvailability: (isAvailable) => {
        if (isAvailable) sweeper.hasten();
      },
      onRefusal: (error) => around.watch.onTrouble(this, `the table refused an outcome: ${String(error)}`),
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
      overtake: (node, stored) => overtakeEpochs(database, node, stored),
      overtaken: (held) => overtakenShards(database, held),
      endAbandoned: (shards) => endAbandoned(database, shards, ABANDONED_AFTER_MS),
    };
    const spoil = around.spoil ?? {};
    const fencing = new Fencing({
      authority: spoil.authority?.(authority, redis, process) ?? authority,
      queue,
      node: id,
      log,
    });
    this.holder = new ShardHolder({
      fencing: {
        take: (shards) => {
          const taking = fencing.take(shards);
          around.watch.onTaking(this, shards, taking);
          return taking;
        },
        renew: (held) => fencing.renew(held),
        overtaken: (held) => fencing.overtaken(held),
      },
      sweeper,
      channels,
      time,
      log,
      settings: { shards: around.shards, touchMs: TIMES.touchMs, drainMs: TIMES.drainMs, handoverMs: TIMES.handoverMs },
    });
    const roster = new Roster(client, {
      prefix: PREFIX,
      shards: around.shards,
      leaseMs: TIMES.leaseMs,
      deathsRememberedMs: TIMES.deathsRememberedMs,
    });
    this.membership = new Membership({
      locks: spoil.locks?.(this.locks, this.holder) ?? this.locks,
      roster: spoil.roster?.(roster) ?? roster,
      holder: this.holder,
      channels,
      time,
      isTableAvailable: () => recorder.isAvailable,
      probeTable: (quietMs, withinMs) => recorder.probe(quietMs, withinMs),
      log,
      events: { onGiven: () => undefined, onTaken: () => undefined, onLapsed: () => undefined },
      settings: {
        id,
        name: id.slice(0, id.lastIndexOf('-')),
        leaseMs: TIMES.leaseMs,
        heartbeatMs: TIMES.heartbeatMs,
        joinGraceMs: TIMES.joinGraceMs,
        handoversMax: TIMES.handoversMax,
      },
    });
    this.#offers = new Offers(queue, (shard, dueAtMs) => this.#wake(shard, dueAtMs), {
      onFault: (error) => around.watch.onTrouble(this, `an offer failed: ${String(error)}`),
      onRefused: () => undefined,
      onCaughtUp: () => undefined,
    });
    this.#cancellation = new Cancellation({
      database,
      offers: spoil.cancels?.(this.#offers) ?? this.#offers,
      clock,
      time,
      settings: { idempotencyMs: 60_000, payloadWithinMs: 3_600_000, inlineMaxBytes: INLINE_MAX_BYTES },
    });
    const parts = this.#actorParts(log);
    this.#parts = spoil.parts?.(parts) ?? parts;
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
  vouch(): void {
    this.#turn(() => this.locks.vouchForEmptyServers());
  }

  stop(): void {
    this.isStopping = true;
    this.process.world.note(`${this.id} is told to stop`);
    this.#turn(async () => {
      this.process.time.after(TIMES.drainMs, () => this.recorder.stop());
      await this.membership.stop();
      this.recorder.stop();
      await this.#offers.stop();
      this.#disappear();
    });
  }

  kill(): void {
    this.#disappear();
  }

  #disappear(): void {
    this.process.kill();
    const { redis, table, lockServers } = this.#around;
    for (const link of this.links) {
      for (const server of [redis, table, ...lockServers]) server.forget(link);
    }
  }

  /** A client's message: committed, then offered. Returns its id. */
  publish(dueInMs: number): string {
    const { world, shards } = this.#around;
    const nowMs = this.#clock.nowMs();
    const id = messageId(nowMs + dueInMs, world.chance.bytes(ID_CHANCE_BYTES));
    const body = world.chance.happens(IS_LARGE) ? LARGE : SMALL;
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
      this.#offers.offer(shard, { id, dueAtMs, payload: encodePayload(message, INLINE_MAX_BYTES), createdAtMs });
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
    const { world, table, watch } = this.#around;
    this.process.time.after(TIMES.fireEveryMs * world.chance.between(0.5, 1.5), () => {
      if (this.isStopping) return;
      const shard = world.chance.pick(this.holder.owned());
      this.#fireOn();
      if (shard === undefined || !this.recorder.isAvailable) return;
      const epoch = table.shards[shard]?.epoch ?? 0;
      this.#database
        .transaction(async (connection) => {
          await connection.run('fire-schedules', {
            ...{ fencedShards: [shard], epochs: [epoch], tenantIds: [], ids: [], shards: [] },
            ...{ generations: [], expectedFireAtMs: [], nextFireAtMs: [], lastFireAtMs: [] },
          });
          await connection.run('insert-attempts', attemptColumns([]));
        })
        .catch((error: unknown) => {
          if (!isAway(error)) watch.onTrouble(this, `a fire failed: ${String(error)}`);
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
        touch: (shard, claims) => queue.touch(shard, claims),
      },
      offers: this.#offers,
      recorder,
      attempts: new Attempts({
        http: destinations.clientOf(process),
        recorder,
        clock,
        chance: (bytes) => world.chance.bytes(bytes),
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
      slots: new Slots(200),
      admission: new Admission(limits, () => process.time.monotonicMs()),
      faulty: new FaultyEntries({ recorder, offers: this.#offers, clock, log, mostTries: 5 }),
      clock,
      time: process.time,
      log,
      settings: { claimBatch: 20, idleClaimMs: TIMES.idleClaimMs, recheckAfterMs: RECHECK_AFTER_MS },
      isTrusted: (shard) => this.locks.isTrusted(shard),
      wake: (shard, dueAtMs) => this.#wake(shard, dueAtMs),
      onFenced: (shard) => this.membership.fenced(shard),
      refence: (shard, refusedEpoch) => this.holder.refence(shard, refusedEpoch),
      onAttempt: () => undefined,
    };
  }

  #wake(shard: number, dueAtMs: number): void {
    if (!this.holder.wake(shard, dueAtMs)) this.#channels.wake(shard, dueAtMs);
  }

  /** As compose.ts watches Redis. */
  #watchRedis(): void {
    const { spoil, world } = this.#around;
    if (spoil?.reconnect === 'unnoticed') return;
    watchRedis(this.#redis, {
      onAway: () => this.holder.redisIsAway(),
      onBack: async () => {
        await this.holder.redisIsBack();
        world.note(`${this.id} has its shards fenced again`);
        this.membership.nudge();
        await this.#offers.retry();
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
