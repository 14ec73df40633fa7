// Clients that send messages: due at once or later, some large, some with a key, some with callbacks, some canceled.

import { ID_RANDOM_BYTES, messageId } from '../../src/domain/ids.js';
import type { CallbackSpec, Message } from '../../src/domain/message.js';
import { shardOfMessage } from '../../src/domain/shard.js';
import type { SimulatedNode, Environment } from './node.js';
import { TIMES } from './times.js';

/** Work comes in, in the mean, so often. */
const MESSAGE_EVERY_MS = 300;
const MAX_DELAY_MS = 6_000;
const FAR_MS = 200_000;
/** So many messages are too large for a payload. */
const IS_LARGE = 0.2;
const SMALL = Buffer.from('x');
const LARGE = Buffer.alloc(TIMES.inlineMaxBytes + 1, 'x');
const HAS_CALLBACK = 0.15;
/** So many are sent with one of a few keys, and sent again by clients that were told of an error, or are impatient. */
const HAS_KEY = 0.2;
const KEYS = 8;
const IS_REPEATED = 0.4;
/** So many messages are canceled, before they are due or just then. */
const IS_CANCELED = 0.1;
const CANCEL_LATE_EVERY_MS = 2_000;
const LATE_MS = 500;

export class MessageClients {
  readonly #around: Environment;
  /** Nodes that answer. */
  readonly #nodes: () => readonly SimulatedNode[];
  #isOver = false;

  /** In how long a message may be due. */
  readonly maxDelayMs: number;

  /** `isFar`: what is sent may be due in minutes. */
  constructor(around: Environment, nodes: () => readonly SimulatedNode[], isFar: boolean) {
    this.maxDelayMs = isFar ? FAR_MS : MAX_DELAY_MS;
    this.#around = around;
    this.#nodes = nodes;
  }

  begin(): void {
    this.#publishOn();
    this.#cancelOn();
  }

  end(): void {
    this.#isOver = true;
  }

  #publishOn(): void {
    const { world } = this.#around;
    const { random } = world;
    world.after(-Math.log(1 - random.next()) * MESSAGE_EVERY_MS, () => {
      if (this.#isOver) return;
      const dueInMs = random.happens(0.5) ? 0 : random.within(0, this.maxDelayMs);
      const id = this.#publish(dueInMs);
      if (id !== null && random.happens(IS_CANCELED)) {
        world.after(random.within(0, dueInMs + 200), () => this.#cancel(id));
      }
      this.#publishOn();
    });
  }

  /** Returns its id. */
  #publish(dueInMs: number): string | null {
    const { world, shards } = this.#around;
    const { random } = world;
    const node = random.pickIfAny(this.#nodes());
    if (node === undefined) return null;
    const nowMs = node.clock.nowMs();
    const id = messageId(nowMs + dueInMs, random.bytes(ID_RANDOM_BYTES));
    const key = random.happens(HAS_KEY) ? `key-${random.between(1, KEYS)}` : null;
    const message: Message = {
      ...plainMessage(id, shardOfMessage(id, shards)),
      createdAtMs: nowMs,
      dueAtMs: Math.ceil(nowMs + dueInMs),
      body: random.happens(IS_LARGE) ? LARGE : SMALL,
      idempotencyKey: key,
      callback: random.happens(HAS_CALLBACK) ? CALLBACK : null,
      failureCallback: random.happens(HAS_CALLBACK) ? { ...CALLBACK, url: 'http://failures.test/' } : null,
    };
    this.#send(node, message);
    if (key !== null && random.happens(IS_REPEATED)) {
      // The same work under another id, by another node.
      const other = messageId(message.dueAtMs, random.bytes(ID_RANDOM_BYTES));
      const again = random.pickIfAny(this.#nodes()) ?? node;
      world.after(random.within(0, 300), () => {
        this.#send(again, {
          ...message,
          id: other,
          shard: shardOfMessage(other, shards),
          createdAtMs: again.clock.nowMs(),
        });
      });
    }
    return id;
  }

  #send(node: SimulatedNode, message: Message): void {
    const { watch } = this.#around;
    const { idempotencyKey: key } = message;
    node.ask(async (intake) => {
      const [acceptance] = await intake.accept([{ message, keys: key === null ? [] : [{ scope: 'key', key }] }]);
      if (acceptance !== undefined) watch.onAccepted(node, message, acceptance);
    });
  }

  /** Through a node that is cut off from Redis where there is one. */
  #cancel(id: string): void {
    const nodes = this.#nodes();
    (nodes.find(({ redisLink }) => !redisLink.isOpen) ?? this.#around.world.random.pickIfAny(nodes))?.cancel(id);
  }

  /**
   * Now and then one is canceled that should have been sent by now: what a frozen node has in its hands is among them.
   */
  #cancelOn(): void {
    const { world, redis, postgres } = this.#around;
    world.after(CANCEL_LATE_EVERY_MS, () => {
      if (this.#isOver) return;
      const lateMs = redis.exactMs() - LATE_MS;
      const late = [...postgres.messages.values()].find(
        ({ state, attempts, due_at, held }) => state === 'pending' && attempts === 0 && due_at < lateMs && !held,
      );
      if (late !== undefined) this.#cancel(late.id);
      this.#cancelOn();
    });
  }
}

const CALLBACK: CallbackSpec = {
  url: 'http://callbacks.test/',
  method: null,
  headers: {},
  retries: null,
  retryDelay: null,
  timeoutMs: null,
  delayMs: null,
};

function plainMessage(id: string, shard: number): Omit<Message, 'createdAtMs' | 'dueAtMs'> {
  return {
    ...{ id, shard, tenantId: 1, kind: 'message', scheduleId: null, occurrenceAtMs: null, idempotencyKey: null },
    ...{ sourceId: null, overlap: null, method: 'POST', headers: {}, body: SMALL, maxRetries: 2, retryDelay: '700' },
    destination: `http://receiver-${shard % 4}.test/`,
    ...{ timeoutMs: 5_000, callback: null, failureCallback: null, labels: [], redact: null, callerIp: null },
  };
}
