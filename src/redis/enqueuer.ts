// Tells the queue of what was just committed to PostgreSQL: new messages, moved schedules, cancels. PostgreSQL has it all anyway,
// so an offer that cannot be made now is only late: it is kept, without payload and in bounded number, until Redis is back, and what
// exceeds the bound is found by the sweeps.

import { CarillonError } from '../domain/errors.js';
import type { MessageId } from '../domain/ids.js';
import type { CancelResult, QueueEntry, ShardQueue } from './shard-queue.js';
import type { Cancel, ProcessTime } from '../domain/clock.js';

/** Most entries whose offers wait for Redis to come back. */
const MAX_WAITING = 20_000;
const RETRY_EVERY_MS = 1_000;
/**
 * Offers that are made well ahead gather for so long, or until there are so many: with hundreds of shards, what comes in at one moment is a
 * message or two for each, and a script costs as much as some tens of its entries.
 */
const GATHER_AHEAD = { forMs: 250, entries: 5_000 } as const;

/** Wakes the actor of a shard, if it sleeps beyond this time. */
export type Wake = (shard: number, dueAtMs: number) => void;

export interface EnqueuerEvents {
  /** A fault of our own; that Redis is unavailable is none. */
  readonly onError: (error: unknown) => void;
  /** Redis takes no offers: it is unavailable, or full. Told once, until it takes them again. */
  readonly onRefused: (error: unknown) => void;
  /** All that waited has been offered; so many more were left to the sweeps. */
  readonly onCaughtUp: (leftToSweeps: number) => void;
}

/** What is to be told to Redis, without payloads. */
interface Waiting {
  readonly entries: readonly string[];
  readonly send: () => Promise<unknown>;
}

export class Enqueuer {
  readonly #queue: ShardQueue;
  readonly #wake: Wake;
  readonly #time: ProcessTime;
  /** Offers of this tick, by shard. */
  #gathered = new Map<number, QueueEntry[]>();
  /** Offers that are made ahead. */
  #later = new Map<number, QueueEntry[]>();
  #laterEntries = 0;
  #cancelAhead: Cancel | null = null;
  #waiting: Waiting[] = [];
  /** How many of those that wait name an entry: what else concerns it waits behind them. */
  readonly #named = new Map<string, number>();
  #entriesWaiting = 0;
  #leftToSweeps = 0;
  #retrying = false;
  #cancelRetry: Cancel | null = null;

  readonly #events: EnqueuerEvents;

  constructor(queue: ShardQueue, wake: Wake, time: ProcessTime, events: EnqueuerEvents) {
    this.#queue = queue;
    this.#wake = wake;
    this.#time = time;
    this.#events = events;
  }

  /** Entries whose offers wait for Redis, and those that were left to the sweeps since it went away. */
  get backlog(): { waiting: number; leftToSweeps: number } {
    return { waiting: this.#entriesWaiting, leftToSweeps: this.#leftToSweeps };
  }

  /** Offers work; the offers of one tick and shard are one script. Does not wait and does not fail. */
  enqueue(shard: number, entry: QueueEntry): void {
    if (this.#gathered.size === 0) setImmediate(() => void this.#flush());
    gather(this.#gathered, shard, entry);
  }

  /**
   * Offers work that is due in minutes, not seconds: within a moment, many entries to a script. What a node that is killed meanwhile has not
   * offered is found by the sweeps.
   */
  enqueueLater(shard: number, entry: QueueEntry): void {
    this.#cancelAhead ??= this.#time.after(GATHER_AHEAD.forMs, () => void this.#flushLater());
    gather(this.#later, shard, entry);
    this.#laterEntries += 1;
    if (this.#laterEntries >= GATHER_AHEAD.entries) void this.#flushLater();
  }

  /** Gives a schedule its place, or takes it out (null). */
  async reschedule(shard: number, entry: string, dueAtMs: number | null, generation: number): Promise<void> {
    await this.#orLater([entry], async () => {
      const { result, earliestChanged } = await this.#queue.reschedule(shard, entry, dueAtMs, generation);
      // In flight: it will be there by then.
      if (dueAtMs !== null && (earliestChanged || result === 'in-flight')) this.#wake(shard, dueAtMs);
    });
  }

  /** Takes canceled messages out. Null when Redis is unavailable: then it is told later, and the row says `canceled` meanwhile. */
  async cancel(shard: number, ids: readonly MessageId[]): Promise<CancelResult[] | null> {
    return this.#orLater(ids, () => this.#queue.cancel(shard, ids));
  }

  /** Makes the offers that waited, up to the first that fails again. Called when Redis is back, and now and then meanwhile. */
  async retry(): Promise<void> {
    if (this.#retrying || this.#waiting.length === 0) return;
    this.#retrying = true;
    try {
      while (this.#waiting.length > 0) {
        await this.#waiting[0]?.send();
        this.#removeFirst();
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

  /** Makes the offers that are still gathered; those that wait for Redis are left to the sweeps. */
  async stop(): Promise<void> {
    await Promise.all([this.#flush(), this.#flushLater()]);
    this.#waiting = [];
    this.#named.clear();
    this.#entriesWaiting = 0;
    this.#cancelRetry?.();
  }

  /** Redis may refuse without going away (it is full), so that nothing says when it takes offers again. */
  #retryLater(): void {
    if (this.#cancelRetry !== null || this.#waiting.length === 0) return;
    this.#cancelRetry = this.#time.after(RETRY_EVERY_MS, () => {
      this.#cancelRetry = null;
      this.retry().catch(this.#events.onError);
    });
  }

  async #flush(): Promise<void> {
    const gathered = this.#gathered;
    this.#gathered = new Map();
    await this.#acceptAll(gathered);
  }

  async #flushLater(): Promise<void> {
    this.#cancelAhead?.();
    this.#cancelAhead = null;
    const later = this.#later;
    this.#later = new Map();
    this.#laterEntries = 0;
    await this.#acceptAll(later);
  }

  /** Does not reject. */
  async #acceptAll(gathered: ReadonlyMap<number, readonly QueueEntry[]>): Promise<void> {
    await Promise.all(
      [...gathered].map(([shard, entries]) => this.#accept(shard, entries).catch(this.#events.onError)),
    );
  }

  async #accept(shard: number, entries: readonly QueueEntry[]): Promise<void> {
    const ids = entries.map(({ id }) => id);
    if (this.#isBehind(ids)) {
      this.#acceptLater(shard, entries);
      return;
    }
    try {
      await this.#send(shard, entries);
    } catch (error) {
      this.#noteRefusal(error);
      this.#acceptLater(shard, entries);
    }
  }

  #acceptLater(shard: number, entries: readonly QueueEntry[]): void {
    const bare = bareEntries(entries);
    this.#wait({ entries: bare.map(({ id }) => id), send: this.#sendLater(shard, bare) });
  }

  /** Made where only the bare entries are in reach: what waits keeps alive whatever is used in the scope that it was made in. */
  #sendLater(shard: number, bare: readonly QueueEntry[]): () => Promise<void> {
    return () => this.#send(shard, bare);
  }

  async #send(shard: number, entries: readonly QueueEntry[]): Promise<void> {
    if (!(await this.#queue.accept(shard, entries))) return;
    this.#wake(shard, Math.min(...entries.map((entry) => entry.dueAtMs)));
  }

  /** Tells at once where nothing that concerns these entries waits, and later where something does or Redis refuses. */
  async #orLater<Result>(entries: readonly string[], send: () => Promise<Result>): Promise<Result | null> {
    if (!this.#isBehind(entries)) {
      try {
        return await send();
      } catch (error) {
        this.#noteRefusal(error);
      }
    }
    this.#wait({ entries, send });
    return null;
  }

  #isBehind(entries: readonly string[]): boolean {
    return this.#named.size > 0 && entries.some((entry) => this.#named.has(entry));
  }

  #noteRefusal(error: unknown): void {
    if (!(error instanceof CarillonError)) throw error;
    if (this.#waiting.length === 0) this.#events.onRefused(error);
  }

  #wait(waiting: Waiting): void {
    if (this.#entriesWaiting + waiting.entries.length <= MAX_WAITING) {
      this.#waiting.push(waiting);
      this.#entriesWaiting += waiting.entries.length;
      for (const entry of waiting.entries) this.#named.set(entry, (this.#named.get(entry) ?? 0) + 1);
    } else {
      this.#leftToSweeps += waiting.entries.length;
    }
    this.#retryLater();
  }

  #removeFirst(): void {
    const done = this.#waiting.shift();
    if (done === undefined) return;
    this.#entriesWaiting -= done.entries.length;
    for (const entry of done.entries) {
      const others = (this.#named.get(entry) ?? 1) - 1;
      if (others === 0) this.#named.delete(entry);
      else this.#named.set(entry, others);
    }
  }
}

function gather(into: Map<number, QueueEntry[]>, shard: number, entry: QueueEntry): void {
  const entries = into.get(shard);
  if (entries === undefined) into.set(shard, [entry]);
  else entries.push(entry);
}

function bareEntries(entries: readonly QueueEntry[]): QueueEntry[] {
  return entries.map(({ id, dueAtMs }) => ({ id, dueAtMs, payload: '' }));
}
