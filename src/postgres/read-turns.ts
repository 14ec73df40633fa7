// Whose list is read next: a node reads few lists at a time, few of them for one tenant, and the others wait for a
// moment.

import { CarillonError } from '../domain/errors.js';
import type { ProcessTime } from '../domain/clock.js';

/** So many may wait for each turn that a tenant has. */
const WAITING_PER_TURN = 16;

export interface ReadTurnLimits {
  readonly time: ProcessTime;
  /** Most lists that are read at once. */
  readonly all: number;
  /** Most of them for one tenant. */
  readonly each: number;
  /** How long a list waits for its turn before it is refused. */
  readonly waitMs: number;
}

interface Waiting {
  readonly tenantId: number;
  readonly begin: () => void;
}

export class ReadTurns {
  readonly #limits: ReadTurnLimits;
  readonly #running = new Map<number, number>();
  #all = 0;
  #waiting: Waiting[] = [];

  constructor(limits: ReadTurnLimits) {
    this.#limits = limits;
  }

  /**
   * Resolves with the function that ends the turn. Throws TOO_MANY_READS when none came free in time; rejects when the
   * signal aborts.
   */
  async take(tenantId: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#mayBegin(tenantId)) this.#begin(tenantId);
    else await this.#wait(tenantId, signal);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#end(tenantId);
    };
  }

  #runningOf(tenantId: number): number {
    return this.#running.get(tenantId) ?? 0;
  }

  #mayBegin(tenantId: number): boolean {
    return this.#all < this.#limits.all && this.#runningOf(tenantId) < this.#limits.each;
  }

  #begin(tenantId: number): void {
    this.#all += 1;
    this.#running.set(tenantId, this.#runningOf(tenantId) + 1);
  }

  #wait(tenantId: number, signal: AbortSignal): Promise<void> {
    const { time, each, waitMs } = this.#limits;
    const ahead = this.#waiting.filter((waiting) => waiting.tenantId === tenantId).length;
    if (waitMs === 0 || ahead >= each * WAITING_PER_TURN) return Promise.reject(this.#refusal());
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        cancelTimer();
        signal.removeEventListener('abort', onAbort);
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
      };
      const waiting: Waiting = {
        tenantId,
        begin: () => {
          leave();
          this.#begin(tenantId);
          resolve();
        },
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason as Error);
      };
      const cancelTimer = time.after(waitMs, () => {
        leave();
        reject(this.#refusal());
      });
      signal.addEventListener('abort', onAbort);
      this.#waiting.push(waiting);
    });
  }

  #end(tenantId: number): void {
    this.#all -= 1;
    const left = this.#runningOf(tenantId) - 1;
    if (left === 0) this.#running.delete(tenantId);
    else this.#running.set(tenantId, left);
    this.#next()?.begin();
  }

  /**
   * The tenant that has the fewest turns is next; of its lists, and of tenants with as many, the one that has waited
   * longest.
   */
  #next(): Waiting | undefined {
    return this.#waiting
      .filter(({ tenantId }) => this.#mayBegin(tenantId))
      .reduce<Waiting | undefined>((best, waiting) => {
        if (best === undefined) return waiting;
        return this.#runningOf(waiting.tenantId) < this.#runningOf(best.tenantId) ? waiting : best;
      }, undefined);
  }

  #refusal(): CarillonError {
    const { each } = this.#limits;
    return new CarillonError(
      'TOO_MANY_READS',
      `too many lists are being read: a tenant may read ${each} at a time on a node (CARILLON_TENANT_READS_MAX); ` +
        'wait for the answers of those under way, then send this again',
    );
  }
}
