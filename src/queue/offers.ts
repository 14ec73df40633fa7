// Tells the queue of what was just committed to the table: new messages, moved schedules, cancels. The table has it all anyway,
// so an offer that cannot be made now is only late: it is kept, without payload and in bounded number, until Redis is back, and what
// exceeds the bound is found by the sweeps.

import { CarillonError } from '../domain/errors.js';
import type { MessageId } from '../domain/ids.js';
import type { CancelResult, QueueEntry, ShardQueue } from './shard-queue.js';

/** Most offers that wait for Redis to come back. */
const MAX_WAITING = 20_000;
const RETRY_EVERY_MS = 1_000;

/** Wakes the actor of a shard, if it sleeps beyond this time. */
export type Wake = (shard: number, dueAtMs: number) => void;

export interface OfferEvents {
  /** A fault of our own; that Redis is away is none. */
  readonly onFault: (error: unknown) => void;
  /** The queue takes no offers: it is away, or full. Told once, until it takes them again. */
  readonly onRefused: (error: unknown) => void;
  /** All that waited has been offered; so many more were left to the sweeps. */
  readonly onCaughtUp: (leftToSweeps: number) => void;
}

type Waiting = () => Promise<unknown>;

export class Offers {
  readonly #queue: ShardQueue;
  readonly #wake: Wake;
  /** Offers of this tick, by shard. */
  #gathered = new Map<number, QueueEntry[]>();
  #waiting: Waiting[] = [];
  #leftToSweeps = 0;
  #retrying = false;
  #timer: NodeJS.Timeout | null = null;

  readonly #events: OfferEvents;

  constructor(queue: ShardQueue, wake: Wake, events: OfferEvents) {
    this.#queue = queue;
    this.#wake = wake;
    this.#events = events;
  }

  /** Offers that wait for Redis, and those that were left to the sweeps since it went away. */
  get backlog(): { waiting: number; leftToSweeps: number } {
    return { waiting: this.#waiting.length, leftToSweeps: this.#leftToSweeps };
  }

  /** Offers work; the offers of one tick and shard are one script. Does not wait and does not fail. */
  offer(shard: number, entry: QueueEntry): void {
    if (this.#gathered.size === 0) setImmediate(() => this.#flush());
    const entries = this.#gathered.get(shard);
    if (entries === undefined) this.#gathered.set(shard, [entry]);
    else entries.push(entry);
  }

  /** Gives a schedule its place, or takes it out (null). */
  async reschedule(shard: number, entry: string, dueAtMs: number | null, generation: number): Promise<void> {
    const tell = async (): Promise<void> => {
      const { result, earliestChanged } = await this.#queue.reschedule(shard, entry, dueAtMs, generation);
      // In flight: it will be there by then.
      if (dueAtMs !== null && (earliestChanged || result === 'in-flight')) this.#wake(shard, dueAtMs);
    };
    await this.#orLater(tell, tell);
  }

  /** Takes canceled messages out. Null when Redis is away: then it is told later, and the row says `canceled` meanwhile. */
  async cancel(shard: number, ids: readonly MessageId[]): Promise<CancelResult[] | null> {
    const tell = (): Promise<CancelResult[]> => this.#queue.cancel(shard, ids);
    return this.#orLater(tell, tell);
  }

  /** Makes the offers that waited, up to the first that fails again. Called when Redis is back, and now and then meanwhile. */
  async retry(): Promise<void> {
    if (this.#retrying || this.#waiting.length === 0) return;
    this.#retrying = true;
    try {
      while (this.#waiting.length > 0) {
        await this.#waiting[0]?.();
        this.#waiting.shift();
      }
      this.#events.onCaughtUp(this.#leftToSweeps);
      this.#leftToSweeps = 0;
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error;
    } finally {
      this.#retrying = false;
      this.#retryLater();
    }
  }

  stop(): void {
    this.#waiting = [];
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Redis may refuse without going away (it is full), so that nothing says when it takes offers again. */
  #retryLater(): void {
    if (this.#timer !== null || this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.retry().catch(this.#events.onFault);
    }, RETRY_EVERY_MS);
  }

  #flush(): void {
    const gathered = this.#gathered;
    this.#gathered = new Map();
    for (const [shard, entries] of gathered) this.#accept(shard, entries).catch(this.#events.onFault);
  }

  async #accept(shard: number, entries: readonly QueueEntry[]): Promise<void> {
    const bare = entries.map(({ id, dueAtMs }) => ({ id, dueAtMs, payload: '' }));
    const tell = async (offered: readonly QueueEntry[]): Promise<void> => {
      if (!(await this.#queue.accept(shard, offered))) return;
      this.#wake(shard, Math.min(...offered.map((entry) => entry.dueAtMs)));
    };
    await this.#orLater(
      () => tell(entries),
      () => tell(bare),
    );
  }

  async #orLater<Result>(now: () => Promise<Result>, later: Waiting): Promise<Result | null> {
    try {
      return await now();
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error;
      if (this.#waiting.length === 0) this.#events.onRefused(error);
      if (this.#waiting.length < MAX_WAITING) this.#waiting.push(later);
      else this.#leftToSweeps += 1;
      this.#retryLater();
      return null;
    }
  }
}
