// Sends to Redis what was just committed to PostgreSQL: new messages, moved schedules, cancels. PostgreSQL has all of
// it, so an update that cannot be sent now is only late. It waits, without payload and in bounded number, until Redis
// is available again; the sweeps find what exceeds the bound.

import { CarillonError } from '../domain/errors.js';
import type { MessageId } from '../domain/ids.js';
import type { CancelResult, QueueEntry, ShardQueue } from './shard-queue.js';
import type { Cancel, ProcessTime } from '../domain/clock.js';

/** Most entries whose updates wait for Redis. */
const MAX_WAITING = 20_000;
const RETRY_EVERY_MS = 1_000;
/**
 * Entries of `enqueueLater` are collected for this long, or until there are this many. With hundreds of shards, only
 * one or two messages arrive for each at a time, and a script costs as much as some tens of its entries.
 */
const GATHER_LATER = { forMs: 250, entries: 5_000 } as const;

/** Wakes the actor of a shard, if it sleeps beyond this time. */
export type Wake = (shard: number, dueAtMs: number) => void;

export interface EnqueuerEvents {
  /** Called for unexpected errors, not when Redis is unavailable. */
  readonly onError: (error: unknown) => void;
  /** Called when Redis refuses updates because it is unavailable or full; once, until it accepts them again. */
  readonly onRefused: (error: unknown) => void;
  /** Called when every waiting update was sent; `leftToSweeps` entries were left to the sweeps. */
  readonly onCaughtUp: (leftToSweeps: number) => void;
}

/** An update that waits for Redis, without payloads. */
interface Waiting {
  readonly entries: readonly string[];
  readonly send: () => Promise<unknown>;
}

export class Enqueuer {
  readonly #queue: ShardQueue;
  readonly #wake: Wake;
  readonly #time: ProcessTime;
  /** Entries of this tick, by shard. */
  #gathered = new Map<number, QueueEntry[]>();
  /** Entries of `enqueueLater`, by shard. */
  #later = new Map<number, QueueEntry[]>();
  #laterEntries = 0;
  #cancelLater: Cancel | null = null;
  #waiting: Waiting[] = [];
  /** How many waiting updates name an entry: further updates of that entry wait behind them. */
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

  /** Entries whose updates wait for Redis, and those that were left to the sweeps since it became unavailable. */
  get backlog(): { waiting: number; leftToSweeps: number } {
    return { waiting: this.#entriesWaiting, leftToSweeps: this.#leftToSweeps };
  }

  /** Enqueues an entry; the entries of one tick and shard go in one script. Does not wait and does not fail. */
  enqueue(shard: number, entry: QueueEntry): void {
    if (this.#gathered.size === 0) setImmediate(() => void this.#flush());
    gather(this.#gathered, shard, entry);
  }

  /**
   * Enqueues an entry that is due in minutes, not seconds: a moment later, many entries in one script. When the node is
   * killed before that, the sweeps find the entry.
   */
  enqueueLater(shard: number, entry: QueueEntry): void {
    this.#cancelLater ??= this.#time.after(GATHER_LATER.forMs, () => void this.#flushLater());
    gather(this.#later, shard, entry);
    this.#laterEntries += 1;
    if (this.#laterEntries >= GATHER_LATER.entries) void this.#flushLater();
  }

  /** Moves a schedule's entry to its due time, or removes it (null). */
  async reschedule(shard: number, entry: string, dueAtMs: number | null, generation: number): Promise<void> {
    await this.#orLater([entry], async () => {
      const { result, earliestChanged } = await this.#queue.reschedule(shard, entry, dueAtMs, generation);
      // In flight: it will be queued by then.
      if (dueAtMs !== null && (earliestChanged || result === 'in-flight')) this.#wake(shard, dueAtMs);
    });
  }

  /**
   * Removes canceled messages from the queue. Returns null when Redis is unavailable: the removal is then sent later,
   * and meanwhile the row says `canceled`.
   */
  async cancel(shard: number, ids: readonly MessageId[]): Promise<CancelResult[] | null> {
    return this.#orLater(ids, () => this.#queue.cancel(shard, ids));
  }

  /**
   * Sends the waiting updates, up to the first that fails again. Called when Redis is available again, and at intervals
   * until then.
   */
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

  /** Sends the entries that are still collected; the updates that wait for Redis are left to the sweeps. */
  async stop(): Promise<void> {
    await Promise.all([this.#flush(), this.#flushLater()]);
    this.#waiting = [];
    this.#named.clear();
    this.#entriesWaiting = 0;
    this.#cancelRetry?.();
  }

  /** Redis may refuse while it is available (it is full); then no event reports when it accepts updates again. */
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
    this.#cancelLater?.();
    this.#cancelLater = null;
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

  /**
   * Returns the retry of an update. A separate function, so that the closure references only the bare entries and does
   * not keep the payloads in memory.
   */
  #sendLater(shard: number, bare: readonly QueueEntry[]): () => Promise<void> {
    return () => this.#send(shard, bare);
  }

  async #send(shard: number, entries: readonly QueueEntry[]): Promise<void> {
    if (!(await this.#queue.accept(shard, entries))) return;
    this.#wake(shard, Math.min(...entries.map((entry) => entry.dueAtMs)));
  }

  /**
   * Sends an update at once, or puts it among the waiting ones when one of its entries waits already or Redis refuses.
   */
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
