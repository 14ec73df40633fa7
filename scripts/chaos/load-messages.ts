/** The messages of the load: all tiers, some of which fail first, take long, are deduplicated, or are canceled while they wait. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.js';
import type { SeededRandom } from '../../test/kit/seeded-random.js';
import type { Cancel, Publish } from './evidence.js';

export interface MessageLoadOptions {
  readonly api: Api;
  readonly random: SeededRandom;
  readonly receiverUrl: string;
  /** Messages a second. */
  readonly rate: number;
  /** A message that is due later than this is in the table only. */
  readonly coldAfterMs: number;
}

/** What a message is to be like. */
interface Shape {
  readonly delayMs: number;
  readonly holdMs: number;
  readonly fails: number;
  readonly end: Publish['end'];
  readonly deduplicated: boolean;
  readonly cancel: boolean;
}

/** A destination that never answers well. */
const NEVER = 99;
const RETRIES = 5;
const MAX_UNDER_WAY = 300;
const ASK_AGAIN_MS = 400;
/** What is still to be delivered when publishing ends must be due soon after. */
const COLD_SPREAD_MS = 15_000;

export class MessageLoad {
  readonly publishes: Publish[] = [];
  readonly cancels: Cancel[] = [];
  readonly #options: MessageLoadOptions;
  readonly #underWay = new Set<Promise<void>>();
  #stopping = false;
  #untilMs = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: MessageLoadOptions) {
    this.#options = options;
  }

  /** Publishes until `stop`; nothing is due later than `untilMs`, in epoch ms. */
  start(untilMs: number): void {
    this.#untilMs = untilMs;
    this.#running = this.#run();
  }

  /** Resolves when every request has been answered or given up. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
    await Promise.all(this.#underWay);
  }

  get accepted(): number {
    return this.publishes.filter(({ messageId }) => messageId !== null).length;
  }

  async #run(): Promise<void> {
    const everyMs = 1_000 / this.#options.rate;
    let dueMs = performance.now();
    while (!this.#stopping) {
      dueMs += everyMs * (0.5 + this.#options.random.next());
      await delay(Math.max(0, dueMs - performance.now()));
      // Requests that hang behind a frozen node must not pile up without end.
      if (this.#underWay.size >= MAX_UNDER_WAY) continue;
      const work: Promise<void> = this.#publish(this.#draw()).finally(() => this.#underWay.delete(work));
      this.#underWay.add(work);
    }
  }

  #draw(): Shape {
    const { random: chance } = this.#options;
    const roomMs = this.#untilMs - Date.now();
    const delayMs = this.#drawDelayMs(roomMs);
    const fails = chance.happens(0.1) ? chance.between(1, 2) : chance.happens(0.03) ? NEVER : 0;
    return {
      delayMs,
      holdMs: chance.happens(0.12) ? chance.between(200, 3_000) : 0,
      fails,
      end: fails === NEVER ? 'failed' : 'delivered',
      deduplicated: chance.happens(0.4),
      cancel: delayMs >= 2_000 && chance.happens(0.12),
    };
  }

  #drawDelayMs(roomMs: number): number {
    const { random: chance, coldAfterMs } = this.#options;
    const tier = chance.next();
    const longestColdMs = Math.min(coldAfterMs + COLD_SPREAD_MS, roomMs);
    if (tier < 0.15 && longestColdMs > coldAfterMs)
      return 1_000 * chance.between(coldAfterMs / 1_000, longestColdMs / 1_000);
    if (tier < 0.5) return 1_000 * chance.between(1, Math.max(1, Math.min(20, Math.floor(roomMs / 1_000))));
    return 0;
  }

  async #publish(shape: Shape): Promise<void> {
    const number = this.publishes.length + 1;
    const publish: Publish = {
      number,
      askedAtMs: Date.now(),
      answeredAtMs: null,
      messageId: null,
      deduplicated: shape.deduplicated,
      end: shape.end,
      delayMs: shape.delayMs,
    };
    this.publishes.push(publish);
    const url = new URL(`${this.#options.receiverUrl}/message?n=${number}`);
    if (shape.holdMs > 0) url.searchParams.set('hold', String(shape.holdMs));
    if (shape.fails > 0) url.searchParams.set('fails', String(shape.fails));
    const request = {
      url: url.href,
      body: { number },
      retries: shape.end === 'failed' ? 1 : RETRIES,
      retryDelay: '500',
      ...(shape.delayMs > 0 ? { delay: shape.delayMs / 1_000 } : {}),
      ...(shape.deduplicated ? { deduplicationId: `publish-${number}` } : {}),
    };
    for (;;) {
      const answer = await this.#options.api.ask((client) => client.publishJSON(request));
      publish.answeredAtMs = Date.now();
      if (answer.kind === 'ok') {
        publish.messageId = answer.value.messageId;
        break;
      }
      // Without a deduplication id nobody may ask twice: it may have been taken.
      if (!shape.deduplicated || this.#stopping) return;
      await delay(ASK_AGAIN_MS);
    }
    if (shape.cancel) await this.#cancel(publish.messageId, shape.delayMs);
  }

  async #cancel(messageId: string, delayMs: number): Promise<void> {
    await delay(delayMs * (0.2 + 0.75 * this.#options.random.next()));
    const askedAtMs = Date.now();
    const answer = await this.#options.api.change((client) => client.messages.cancel(messageId), [404]);
    const acknowledgedAtMs = answer.kind === 'ok' && answer.value.cancelled === 1 ? Date.now() : null;
    this.cancels.push({ messageId, askedAtMs, acknowledgedAtMs });
  }
}
