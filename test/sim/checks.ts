// What must hold in every simulation, whatever goes wrong: looked at as things happen, and when all faults are over.

import { messageIdTimeMs } from '../../src/domain/ids.js';
import type { Message } from '../../src/domain/message.js';
import type { Acceptance } from '../../src/postgres/messages/accepts.js';
import type { Call } from './destinations.js';
import type { NodeWatch, SimulatedNode, Environment } from './node.js';
import { RecordChecks } from './record-checks.js';
import type { Caller } from './redis-server.js';
import { ScheduleChecks } from './schedule-checks.js';

/** A takeover asks Redis for no more than this for each shard. */
const MAX_TAKEOVER_COMMANDS = 3;
/** What is no part of a takeover. */
const OTHER_WORK = new Set(['accept', 'cancel', 'fire', 'promote', 'reschedule', 'settle', 'extend-visibility']);
/** By so much may a node's idea of Redis's clock be ahead. */
const EARLY_MS = 60;
/** How often it is looked whether shards have actors. */
const LOOK_EVERY_MS = 50;

interface LastClaim {
  readonly epoch: number;
  readonly by: string;
}

export interface Disturbance {
  readonly fromMs: number;
  untilMs: number;
  /** A node, or null: every node. */
  readonly node: string | null;
}

export class Checks implements NodeWatch {
  #around: Environment | null = null;
  schedules!: ScheduleChecks;
  records!: RecordChecks;
  /** Within this time of when it is due a message is sent; any time when left out. */
  lateMs = Infinity;
  readonly #lastClaims = new Map<number, LastClaim>();
  readonly #ownerOfEpoch = new Map<string, string>();
  /** The run of Redis in which each shard was fenced last. */
  readonly #fencedIn = new Map<number, number>();
  readonly #calls = new Map<string, Call[]>();
  readonly #taking = new Map<string, Map<number, number>>();
  /** When the cancel of a message was acknowledged. */
  readonly #canceledAtMs = new Map<string, number>();
  cancels = 0;
  /** What may have made a node lose track of what it was sending: second deliveries are excused by it. */
  readonly disturbances: Disturbance[] = [];
  /** Whether locks may be lost although nobody gave them up: the lock server is set back to an older state. */
  locksMayGoBack = false;
  /** When a node was last given a message, by Redis or PostgreSQL. */
  readonly #decided = new Map<string, number>();
  /** Set while nothing goes on that shards should move for. */
  mayNotMove = false;
  secondDeliveries = 0;
  /** Grants of a shard to another node than it was granted to before. */
  moves = 0;
  claims = 0;
  refusals = 0;
  maxTakeoverCommands = 0;

  watch(around: Environment): void {
    this.#around = around;
    this.schedules = new ScheduleChecks(around.world, around.postgres);
    this.records = new RecordChecks(around.world, around.postgres, () => around.redis.exactMs());
    around.postgres.transactions.onCommit = (changes) => {
      this.schedules.onCommit(changes);
      this.records.onCommit(changes);
    };
    around.redis.onScript = (name, keys, args, reply, by) => this.#onScript(name, keys, args, reply, by);
    around.postgres.onRead = (ids, by) => ids.forEach((id) => this.#decided.set(`${by.id} ${id}`, around.world.nowMs));
    around.postgres.onGrant = (shard, from, to) => {
      if (from === null || from === to) return;
      this.moves += 1;
      if (this.mayNotMove) this.#violate(`shard ${shard} moved from ${from} to ${to} for nothing`);
    };
    around.destinations.onCall = (call) => this.#onCall(call);
  }

  onCanceled(node: SimulatedNode, id: string): void {
    const { world } = this.#there;
    world.note(`${node.id} acknowledges the cancel of ${id.slice(-6)}`);
    this.#canceledAtMs.set(id, world.nowMs);
    this.cancels += 1;
  }

  onAccepted(_node: SimulatedNode, message: Message, acceptance: Acceptance): void {
    this.records.onAccepted(message, acceptance);
  }

  onTrouble(node: SimulatedNode, text: string): void {
    this.#violate(`${node.id}: ${text}`);
  }

  onClaimSent(node: SimulatedNode, shard: number, epoch: number): void {
    const { world, lockServers } = this.#there;
    world.note(`${node.id} claims from ${shard} as ${epoch}`);
    if (!node.locks.isTrusted(shard)) this.#violate(`${node.id} sent a claim of shard ${shard} after its trust ended`);
    if (this.locksMayGoBack) return;
    const others = lockServers.filter((server) => {
      const holder = server.get(`carillon:{locks}:lease:${shard}`);
      return holder !== null && holder.by !== node.id;
    });
    if (others.length > lockServers.length / 2) {
      this.#violate(`${node.id} sent a claim of shard ${shard}, whose lock ${others.length} servers gave to another`);
    }
  }

  onCommand(node: SimulatedNode, script: string, key: string): void {
    // Clients' work goes on, and so does what the node began when it had the shard a while ago.
    if (OTHER_WORK.has(script)) return;
    const shard = shardOf(key);
    const counts = this.#taking.get(node.id);
    const count = shard === null ? undefined : counts?.get(shard);
    if (shard !== null && count !== undefined) counts?.set(shard, count + 1);
  }

  onTaking(node: SimulatedNode, shards: readonly number[], taking: Promise<unknown>): void {
    const counts = new Map(shards.map((shard) => [shard, 0]));
    this.#taking.set(node.id, counts);
    const done = (): void => {
      this.#taking.delete(node.id);
      const most = Math.max(0, ...counts.values());
      this.maxTakeoverCommands = Math.max(this.maxTakeoverCommands, most);
      if (most > MAX_TAKEOVER_COMMANDS) this.#violate(`${node.id} took a shard over with ${most} commands`);
    };
    taking.then(done, done);
  }

  #onScript(name: string, keys: readonly string[], args: readonly string[], reply: unknown, by: Caller): void {
    const shard = shardOf(keys[0] ?? '');
    if (shard === null) return;
    if (name === 'claim') this.#onClaim(shard, args, reply as (string | number)[], by);
    if (name === 'fence') this.#onFence(shard, reply as number[], by);
  }

  /** Another run of Redis may have forgotten what it was told last: whoever takes the shard fills it again. */
  #onFence(shard: number, [installed = 0, , , completedAtMs = 0]: readonly number[], by: Caller): void {
    if (installed !== 1) return;
    const { runId } = this.#there.redis;
    const isOtherRun = (this.#fencedIn.get(shard) ?? runId) !== runId;
    this.#fencedIn.set(shard, runId);
    if (isOtherRun && completedAtMs !== 0) {
      this.#violate(`${by.id} fenced shard ${shard} in another run of Redis as though that had forgotten nothing`);
    }
  }

  #onClaim(shard: number, args: readonly string[], reply: readonly (string | number)[], by: Caller): void {
    const [epoch, , , answerByMs] = args.map(Number) as [number, number, number, number];
    if (reply[0] !== 'OK') {
      this.refusals += 1;
      this.#there.world.note(`${by.id} is refused at ${shard} as ${epoch}: ${String(reply[0])}`);
      return;
    }
    this.claims += 1;
    const last = this.#lastClaims.get(shard);
    if (last !== undefined && epoch < last.epoch) {
      this.#violate(`shard ${shard}: ${by.id} claimed by epoch ${epoch} after ${last.by} had claimed by ${last.epoch}`);
    }
    const name = `${shard}:${epoch}`;
    const owner = this.#ownerOfEpoch.get(name) ?? by.id;
    if (owner !== by.id) this.#violate(`shard ${shard}: epoch ${epoch} was claimed by ${owner} and by ${by.id}`);
    this.#ownerOfEpoch.set(name, owner);
    this.#lastClaims.set(shard, { epoch, by: by.id });
    if (reply.length > 4 && this.#there.redis.timeMs() > answerByMs) {
      this.#violate(`${by.id} took work of shard ${shard} by a claim that it had given up`);
    }
    for (let at = 4; at < reply.length; at += 4)
      this.#decided.set(`${by.id} ${reply[at] ?? ''}`, this.#there.world.nowMs);
  }

  /** A call that comes in at a receiver. */
  #onCall(call: Call): void {
    const { postgres, redis, world } = this.#there;
    const row = postgres.messages.get(call.id);
    world.note(`${call.by} calls for ${call.id.slice(-6)}, attempt ${call.attempt}`);
    const before = this.#calls.get(call.id) ?? [];
    this.#calls.set(call.id, [...before, call]);
    if (row === undefined) {
      this.#violate(`${call.by} delivered message ${call.id.slice(-6)}, which is not in PostgreSQL`);
      return;
    }
    const earlyMs = messageIdTimeMs(call.id) - redis.exactMs();
    if (earlyMs > EARLY_MS) this.#violate(`message ${call.id.slice(-6)} was sent ${earlyMs.toFixed(0)} ms early`);
    if (call.attempt === 1 && row.overlap === null && -earlyMs > this.lateMs) {
      this.#violate(`message ${call.id.slice(-6)} was sent ${(-earlyMs).toFixed(0)} ms late`);
    }
    if (row.endedAtMs < (this.#decided.get(`${call.by} ${call.id}`) ?? 0)) {
      this.#violate(`message ${call.id.slice(-6)} was sent by ${call.by}, though it had ended before it was claimed`);
    }
    if (call.begunAtMs > (this.#canceledAtMs.get(call.id) ?? Infinity)) {
      this.#violate(`message ${call.id.slice(-6)} was sent by ${call.by} after its cancel was acknowledged`);
    }
    const same = before.find(({ attempt }) => attempt === call.attempt);
    if (same === undefined) return;
    this.secondDeliveries += 1;
    if (!this.#isExcused(same, call)) {
      const text = `attempt ${call.attempt} of message ${call.id.slice(-6)} was made by ${same.by} and again by ${call.by}`;
      this.#violate(`${text}, though nothing cut off the first`);
    }
  }

  /** Whether the first of two calls was cut off from its record, or was forgotten by Redis on the way there. */
  #isExcused(first: Call, second: Call): boolean {
    return this.disturbances.some(
      ({ fromMs, untilMs, node }) =>
        (node === null || node === first.by) && fromMs <= second.atMs && untilMs >= first.atMs,
    );
  }

  /** From now on a shard that has no actor for longer than this is a violation. */
  boundOwnerless(nodes: readonly SimulatedNode[], mostMs: number): void {
    const { world, shards } = this.#there;
    const since = new Map<number, number>();
    const look = (): void => {
      const owned = new Set(nodes.filter(({ process }) => process.runs).flatMap((node) => node.holder.owned()));
      for (let shard = 0; shard < shards; shard++) {
        if (owned.has(shard)) since.delete(shard);
        else if (!since.has(shard)) since.set(shard, world.nowMs);
        const forMs = world.nowMs - (since.get(shard) ?? world.nowMs);
        if (forMs > mostMs) this.#violate(`shard ${shard} has had no actor for ${forMs.toFixed(0)} ms`);
      }
      world.after(LOOK_EVERY_MS, look);
    };
    look();
  }

  /** When all faults are over and the time to recover has passed. */
  checkOwners(nodes: readonly SimulatedNode[]): void {
    for (const fault of this.ownerFaults(nodes)) this.#violate(fault);
  }

  /** What is not as it should be in a cluster at rest: one actor for each shard, even shares, and no lock without an actor. */
  ownerFaults(nodes: readonly SimulatedNode[]): string[] {
    const { shards, postgres } = this.#there;
    const faults: string[] = [];
    const live = nodes.filter((node) => node.process.runs && !node.isStopping);
    for (let shard = 0; shard < shards; shard++) {
      const owners = live.filter((node) => node.holder.owned().includes(shard));
      const named = owners.map(({ id }) => id).join(', ');
      if (owners.length !== 1) faults.push(`shard ${shard} has ${owners.length} actors: ${named}`);
      const granted = postgres.shard(shard).node ?? 'nobody';
      if (owners.length === 1 && owners[0]?.id !== granted) faults.push(`${named} owns shard ${shard} of ${granted}`);
    }
    const shares = live.map((node) => node.holder.owned().length);
    if (Math.max(...shares) - Math.min(...shares) > 1) faults.push(`shares are uneven: ${shares.join(', ')}`);
    for (const node of live) {
      const held = node.locks.locked().sort((a, b) => a - b);
      const owned = node.holder.owned();
      if (held.join() !== owned.join()) {
        faults.push(`${node.id} holds the locks of ${held.join()} and runs actors of ${owned.join()}`);
      }
    }
    return faults;
  }

  /** When everything should have come to its end. */
  checkMessages(): void {
    for (const row of this.#there.postgres.messages.values()) {
      const name = `message ${row.id.slice(-6)} of shard ${row.shard}`;
      if (row.state === 'pending') this.#violate(`${name} is still pending after ${row.attempts} attempts`);
      if (row.finished > 1) this.#violate(`${name} ended ${row.finished} times`);
      const calls = this.#calls.get(row.id)?.length ?? 0;
      if (calls < row.attempts) this.#violate(`${name} has ${row.attempts} attempts on record and ${calls} were made`);
    }
  }

  get isAllEnded(): boolean {
    return [...this.#there.postgres.messages.values()].every(({ state }) => state !== 'pending');
  }

  get #there(): Environment {
    if (this.#around === null) throw new Error('there is nothing to check yet');
    return this.#around;
  }

  #violate(text: string): void {
    this.#there.world.violate(text);
  }
}

function shardOf(key: string): number | null {
  const match = /^carillon:\{(\d+)\}/.exec(key);
  return match === null ? null : Number(match[1]);
}
