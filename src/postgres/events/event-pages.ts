// Pages of events: walks through time in stretches that widen where little happened and shrink where much did, so that a page never
// reads everything, whatever PostgreSQL holds.

import type { Clock } from '../../domain/clock.js';
import type { MessageFilter } from '../messages/message-filter.js';
import type { BoundedReads } from '../reads.js';
import type { Queryable } from '../database.js';
import { refsOfMoment } from './event-moment.js';
import { comparePlaces, refsOfMessages, refsOfWindow } from './events.js';
import type { EventRef, EventPlace, EventState, EventWindow } from './events.js';

export interface EventQuery {
  readonly filter: MessageFilter;
  readonly states: ReadonlySet<EventState>;
  readonly order: 'latestFirst' | 'earliestFirst';
  /** Inclusive, milliseconds since the epoch; null for no bound. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** The place after which the page begins; null for the first page. */
  readonly after: EventPlace | null;
  readonly limit: number;
}

export interface EventPage {
  readonly refs: readonly EventRef[];
  /** Where the next page begins; null on the last one. A page may have fewer events than asked for and still not be the last. */
  readonly next: EventPlace | null;
}

/** The first stretch, and by how much it widens. */
const FIRST_WINDOW_MS = 10 * 60_000;
const WIDENING = 16;
/** After a stretch was crowded, the next ones widen with care. */
const CAREFUL_WIDENING = 2;
const NARROWING = 10;
/** From this width on, one more stretch takes all that is left, where there was no crowd. */
const WIDEST_WINDOW_MS = 400 * 86_400_000;
/** How many rows crowd a stretch. */
const CROWD_ROWS = 2_000;
/** Events are stamped by several clocks; those of a node that is a little ahead are not to be missed. */
const CLOCK_MARGIN_MS = 60_000;

/** One page of a tenant's events. It ends where it is when the time is over, and then may have none. */
export async function pageEvents(
  reads: BoundedReads,
  clock: Clock,
  tenantId: number,
  query: EventQuery,
): Promise<EventPage> {
  const ids = query.filter.messageIds;
  if (ids === undefined) return await pageByWindows(reads, clock, tenantId, query);
  const refs = await refsOfMessages(reads, tenantId, ids, query.filter, query.states);
  return cut(inOrder(refs.filter(isWanted(query)), query), query.limit);
}

async function pageByWindows(
  reads: BoundedReads,
  clock: Clock,
  tenantId: number,
  query: EventQuery,
): Promise<EventPage> {
  const earliestMs = query.fromMs ?? 0;
  const latestMs = Math.min((query.toMs ?? Infinity) + 1, Math.ceil(clock.nowMs()) + CLOCK_MARGIN_MS);
  const walk = new Walk(query, earliestMs, latestMs);
  const found: EventRef[] = [];
  for (let window = walk.window(); window !== null; window = walk.window()) {
    const stretch = window;
    const refs = await reads.step((table) => refsOfStretch(table, tenantId, stretch, query));
    if (refs === null) {
      if (!walk.hasMoved) throw reads.tooSlow();
      return { refs: found, next: walk.place() };
    }
    if (refs === 'crowded') walk.narrow();
    else {
      found.push(...inOrder(refs.filter(isWanted(query)), query));
      if (found.length > query.limit) return cut(found, query.limit);
      walk.advance();
    }
    if (reads.isWalkOver && walk.hasMoved) return { refs: found, next: walk.place() };
  }
  return { refs: found, next: null };
}

/** What happened in a stretch; of a millisecond no more than the page can take. */
async function refsOfStretch(
  table: Queryable,
  tenantId: number,
  window: EventWindow,
  query: EventQuery,
): Promise<EventRef[] | 'crowded'> {
  const { filter, states, after } = query;
  const atMs = window.fromMs;
  if (window.untilMs - atMs > 1) return await refsOfWindow(table, tenantId, window, filter, states, CROWD_ROWS);
  const forward = query.order === 'earliestFirst';
  const fromId = after?.atMs === atMs && after.messageId !== '' ? after.messageId : null;
  return await refsOfMoment(table, tenantId, {
    ...{ atMs, filter, states, forward, fromId },
    isWanted: isWanted(query),
    enough: query.limit + 1,
  });
}

/** The stretches of time of one page, one after the other. */
class Walk {
  readonly #forward: boolean;
  readonly #startMs: number;
  readonly #endMs: number;
  #edgeMs: number;
  #widthMs = FIRST_WINDOW_MS;
  #widening = WIDENING;

  constructor(query: EventQuery, earliestMs: number, latestMs: number) {
    const { after } = query;
    this.#forward = query.order === 'earliestFirst';
    this.#endMs = this.#forward ? latestMs : earliestMs;
    if (this.#forward) this.#edgeMs = Math.max(earliestMs, after?.atMs ?? 0);
    // Without a message the place is before every event of its millisecond: backward these were given.
    else this.#edgeMs = Math.min(latestMs, after === null ? Infinity : after.atMs + (after.messageId === '' ? 0 : 1));
    this.#startMs = this.#edgeMs;
  }

  /** The stretch to look at; null when all was looked at. */
  window(): EventWindow | null {
    if (this.#forward) {
      if (this.#edgeMs >= this.#endMs) return null;
      return { fromMs: this.#edgeMs, untilMs: Math.min(this.#edgeMs + this.#widthMs, this.#endMs) };
    }
    if (this.#edgeMs <= this.#endMs) return null;
    return { fromMs: Math.max(this.#edgeMs - this.#widthMs, this.#endMs), untilMs: this.#edgeMs };
  }

  /** Whether the page has looked at anything, so that the next one begins elsewhere. */
  get hasMoved(): boolean {
    return this.#edgeMs !== this.#startMs;
  }

  advance(): void {
    const window = this.window();
    if (window === null) return;
    this.#edgeMs = this.#forward ? window.untilMs : window.fromMs;
    this.#widthMs *= this.#widening;
    // One more stretch takes all that is left, unless there was a crowd: that one would only be found again.
    if (this.#widening === WIDENING && this.#widthMs >= WIDEST_WINDOW_MS) this.#widthMs = Infinity;
  }

  narrow(): void {
    const window = this.window();
    if (window === null) return;
    this.#widening = CAREFUL_WIDENING;
    this.#widthMs = Math.max(1, Math.floor((window.untilMs - window.fromMs) / NARROWING));
  }

  /** Where a page ends that was left here; null when nothing remains. */
  place(): EventPlace | null {
    return this.window() === null ? null : { atMs: this.#edgeMs, messageId: '', sequence: 0 };
  }
}

function isWanted(query: EventQuery): (ref: EventRef) => boolean {
  const sign = query.order === 'earliestFirst' ? 1 : -1;
  return (ref) =>
    (query.fromMs === null || ref.atMs >= query.fromMs) &&
    (query.toMs === null || ref.atMs <= query.toMs) &&
    (query.after === null || sign * comparePlaces(ref, query.after) > 0);
}

function inOrder(refs: EventRef[], query: EventQuery): EventRef[] {
  const sign = query.order === 'earliestFirst' ? 1 : -1;
  return refs.sort((a, b) => sign * comparePlaces(a, b));
}

function cut(refs: readonly EventRef[], limit: number): EventPage {
  const page = refs.slice(0, limit);
  const last = page.at(-1);
  return { refs: page, next: refs.length > limit && last !== undefined ? last : null };
}
