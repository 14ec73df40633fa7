// Sends the ends of a shard's claims to Redis: those of one turn of the event loop go together.

import type { Settlement, ShardQueue } from '../redis/shard-queue.js';

export class Settlements {
  readonly #shard: number;
  readonly #queue: Pick<ShardQueue, 'settle'>;
  readonly #onBackAt: (atMs: number) => void;
  #gathered: Settlement[] = [];
  #sent: Promise<void> | null = null;

  /** `onBackAt` is called with the time at which the soonest of them comes back; Infinity when none does. */
  constructor(shard: number, queue: Pick<ShardQueue, 'settle'>, onBackAt: (atMs: number) => void) {
    this.#shard = shard;
    this.#queue = queue;
    this.#onBackAt = onBackAt;
  }

  /**
   * Resolves when Redis has it. When Redis cannot be reached, the claim expires, and the next claim reads PostgreSQL.
   */
  async add(settlement: Settlement): Promise<void> {
    this.#gathered.push(settlement);
    this.#sent ??= new Promise((resolve) => setImmediate(resolve)).then(() => this.flush());
    await this.#sent;
  }

  async flush(): Promise<void> {
    this.#sent = null;
    const settlements = this.#gathered;
    this.#gathered = [];
    if (settlements.length === 0) return;
    await this.#queue.settle(this.#shard, settlements);
    this.#onBackAt(Math.min(...settlements.map(({ backAtMs }) => backAtMs ?? Infinity)));
  }
}
