// A connection of one process to one server: in order, with delays, and with all the ways in which an answer may not come.

import type { Process } from './process.js';
import type { Server } from './server.js';

export interface LinkTroubles {
  /** Chance that a request is lost with its connection before it is carried out. */
  lostRequest: number;
  /** Chance that it is carried out and the answer is lost with the connection. */
  lostAnswer: number;
  /** Chance of a delay of up to `longDelayMs`. */
  longDelay: number;
  longDelayMs: number;
}

interface LinkSettings {
  readonly process: Process;
  readonly server: Server;
  /** How long an answer is waited for. */
  readonly timeoutMs: number;
  readonly troubles: LinkTroubles;
  readonly onClosed?: () => void;
  readonly onReady?: () => void;
}

/** An answer that the server does not have yet. */
export class Later<Answer> {
  constructor(readonly begin: (resolve: (answer: Answer) => void, reject: (error: Error) => void) => void) {}
}

const RECONNECT_MS = 60;

export class Link {
  readonly #settings: LinkSettings;
  #isOpen = true;
  /** Each connection has a number: what belongs to an earlier one is not heard any more. */
  #connection = 0;
  #reachesServerAtMs = 0;
  #reachesProcessAtMs = 0;
  #stalledUntilMs = 0;
  readonly #pending = new Set<(error: Error) => void>();

  constructor(settings: LinkSettings) {
    this.#settings = settings;
    settings.server.links.add(this);
  }

  get process(): Process {
    return this.#settings.process;
  }

  get server(): Server {
    return this.#settings.server;
  }

  get isStalled(): boolean {
    return this.process.world.nowMs < this.#stalledUntilMs;
  }

  /** Which connection it is, counted from the first. */
  get connection(): number {
    return this.#connection;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a request. Rejects when there is no connection, when it breaks, or when no answer comes in time. */
  send<Answer>(carryOut: () => Answer | Later<Answer>): Promise<Answer> {
    const { process, server, timeoutMs, troubles } = this.#settings;
    const { world } = process;
    if (!this.#isOpen) return Promise.reject(new Error('Connection is closed.'));
    return new Promise<Answer>((resolve, reject) => {
      const settle = (then: () => void): void => {
        if (!this.#pending.delete(fail)) return;
        cancelTimeout();
        then();
      };
      const fail = (error: Error): void => settle(() => reject(error));
      this.#pending.add(fail);
      const cancelTimeout = process.time.after(timeoutMs, () => fail(new Error('Command timed out')));
      const connection = this.#connection;
      this.#reachesServerAtMs = Math.max(this.#reachesServerAtMs, this.#delayed());
      const arrive = (): void => {
        if (!server.isUp || server.life !== life) return;
        // The connection may be gone while the request was on its way; then it may have come through or not.
        if (connection !== this.#connection && world.random.happens(0.5)) return;
        if (server.isFrozen) {
          world.at(server.frozenUntilMs, arrive);
          return;
        }
        if (world.random.happens(troubles.lostRequest)) {
          this.reset();
          return;
        }
        const answer = attempt(carryOut);
        if (answer instanceof Later) answer.begin(reply, (error) => reply(new Failed(error)));
        else reply(answer);
      };
      const reply = (answer: Answer | Failed): void => {
        if (world.random.happens(troubles.lostAnswer)) {
          this.reset();
          return;
        }
        if (connection !== this.#connection) return;
        this.#reachesProcessAtMs = Math.max(this.#reachesProcessAtMs, this.#delayed());
        process.deliver(this.#reachesProcessAtMs, () => {
          if (connection !== this.#connection) return;
          settle(() => (answer instanceof Failed ? reject(answer.error) : resolve(answer)));
        });
      };
      const { life } = server;
      world.at(this.#reachesServerAtMs, arrive);
    });
  }

  /** Something that the server says by itself. */
  push(say: () => void): void {
    const connection = this.#connection;
    if (!this.#isOpen) return;
    this.#reachesProcessAtMs = Math.max(this.#reachesProcessAtMs, this.#delayed());
    this.process.deliver(this.#reachesProcessAtMs, () => {
      if (connection === this.#connection) say();
    });
  }

  /** Nothing comes through for a while, in either direction; then everything does. */
  stall(durationMs: number): void {
    this.#stalledUntilMs = Math.max(this.#stalledUntilMs, this.process.world.nowMs + durationMs);
  }

  /** The connection breaks, and is made again when the server can be reached. */
  reset(): void {
    if (!this.#isOpen) return;
    const { process } = this.#settings;
    this.#isOpen = false;
    this.#connection += 1;
    this.#settings.server.lostConnection(this);
    process.deliver(process.world.nowMs, () => {
      for (const fail of [...this.#pending]) fail(new Error('Connection is closed.'));
      this.#settings.onClosed?.();
      this.#reconnect();
    });
  }

  #reconnect(): void {
    const { process, server } = this.#settings;
    process.time.after(RECONNECT_MS, () => {
      const { nowMs } = process.world;
      if (!server.isUp || server.isFrozen || this.isStalled) {
        this.#reconnect();
        return;
      }
      this.#isOpen = true;
      this.#reachesServerAtMs = nowMs;
      this.#reachesProcessAtMs = nowMs;
      this.#settings.onReady?.();
    });
  }

  #delayed(): number {
    const { process, troubles } = this.#settings;
    const { world } = process;
    const long = world.random.happens(troubles.longDelay) ? world.random.within(0, troubles.longDelayMs) : 0;
    return Math.max(world.nowMs + world.random.within(0.1, 1.5) + long, this.#stalledUntilMs);
  }
}

class Failed {
  constructor(readonly error: Error) {}
}

function attempt<Answer>(carryOut: () => Answer | Later<Answer>): Answer | Later<Answer> | Failed {
  try {
    return carryOut();
  } catch (error) {
    return new Failed(error instanceof Error ? error : new Error(String(error)));
  }
}
