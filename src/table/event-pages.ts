// Pages of events: walks through time in stretches that widen where little happened and shrink where much did, so that a page never
// reads everything, whatever the table holds.

import type { Clock } from '../domain/clock.js';
import type { Queryable } from './database.js';
import type { MessageFilter } from './message-filter.js';
import { comparePlaces, marksOfMessages, marksOfWindow } from './events.js';
import type { EventMark, EventPlace, EventState } from './events.js';

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
  readonly marks: readonly EventMark[];
  /** Where the next page begins; null on the last one. A page may have fewer events than asked for and still not be the last. */
  readonly next: EventPlace | null;
}

/** The first stretch, and by how much it widens. */
const FIRST_WINDOW_MS = 10 * 60_000;
const WIDENING = 16;
/** After a stretch was crowded, the next ones widen with care. */
const CAREFUL_WIDENING = 2;
const NARROWING = 10;
/** From this width on, one more stretch takes all that is left. */
const WIDEST_WINDOW_MS = 400 * 86_400_000;
/** How many rows crowd a stretch. */
const CROWD_ROWS = 2_000;
/** Events are stamped by several clocks; those of a node that is a little ahead are not to be missed. */
const CLOCK_MARGIN_MS = 60_000;
/** A page that has taken this long ends where it is; its cursor goes on from there. */
const PAGE_BUDGET_MS = 2_000;

/** One page of a tenant's events. */
export async function pageEvents(
  table: Queryable,
  clock: Clock,
  tenantId: number,
  query: EventQuery,
): Promise<EventPage> {
  const ids = query.filter.messageIds;
  if (ids === undefined) return await pageByWindows(table, clock, tenantId, query);
  const marks = await marksOfMessages(table, tenantId, ids, query.filter, query.states);
  return cut(inOrder(marks.filter(isWanted(query)), query), query.limit);
}

async function pageByWindows(table: Queryable, clock: Clock, tenantId: number, query: EventQuery): Promise<EventPage> {
  const startedMs = clock.nowMs();
  const earliestMs = query.fromMs ?? 0;
  const latestMs = Math.min((query.toMs ?? Infinity) + 1, Math.ceil(startedMs) + CLOCK_MARGIN_MS);
  const walk = new Walk(query, earliestMs, latestMs);
  const found: EventMark[] = [];
  for (let window = walk.window(); window !== null; window = walk.window()) {
    const isShortest = window.untilMs - window.fromMs <= 1;
    const limit = isShortest ? null : CROWD_ROWS;
    const marks = await marksOfWindow(table, tenantId, window, query.filter, query.states, limit);
    if (marks === 'crowded') {
      walk.narrow();
      continue;
    }
    found.push(...inOrder(marks.filter(isWanted(query)), query));
    if (found.length > query.limit) return cut(found, query.limit);
    walk.advance();
    if (clock.nowMs() - startedMs > PAGE_BUDGET_MS) {
      return { marks: found, next: walk.place() };
    }
  }
  return { marks: found, next: null };
}

/** The stretches of time of one page, one after the other. */
class Walk {
  readonly #forward: boolean;
  readonly #endMs: number;
  #edgeMs: number;
  #widthMs = FIRST_WINDOW_MS;
  #widening = WIDENING;

  constructor(query: EventQuery, earliestMs: number, latestMs: number) {
    this.#forward = query.order === 'earliestFirst';
    this.#endMs = this.#forward ? latestMs : earliestMs;
    const afterMs = query.after?.atMs ?? null;
    if (this.#forward) this.#edgeMs = Math.max(earliestMs, afterMs ?? 0);
    else this.#edgeMs = Math.min(latestMs, afterMs === null ? Infinity : afterMs + 1);
  }

  /** The stretch to look at; null when all was looked at. */
  window(): { fromMs: number; untilMs: number } | null {
    const widthMs = this.#widthMs >= WIDEST_WINDOW_MS ? Infinity : this.#widthMs;
    if (this.#forward) {
      if (this.#edgeMs >= this.#endMs) return null;
      return { fromMs: this.#edgeMs, untilMs: Math.min(this.#edgeMs + widthMs, this.#endMs) };
    }
    if (this.#edgeMs <= this.#endMs) return null;
    return { fromMs: Math.max(this.#edgeMs - widthMs, this.#endMs), untilMs: this.#edgeMs };
  }

  advance(): void {
    const window = this.window();
    if (window === null) return;
    this.#edgeMs = this.#forward ? window.untilMs : window.fromMs;
    this.#widthMs *= this.#widening;
  }

  narrow(): void {
    const window = this.window();
    if (window === null) return;
    this.#widening = CAREFUL_WIDENING;
    this.#widthMs = Math.max(1, Math.floor((window.untilMs - window.fromMs) / NARROWING));
  }

  /** Where a page ends that was left here; null when nothing remains. */
  place(): EventPlace | null {
    if (this.window() === null) return null;
    // Before every event of the edge's millisecond: forward these are still to come, backward they were given.
    return { atMs: this.#edgeMs, messageId: '', sequence: 0 };
  }
}

function isWanted(query: EventQuery): (mark: EventMark) => boolean {
  const sign = query.order === 'earliestFirst' ? 1 : -1;
  return (mark) =>
    (query.fromMs === null || mark.atMs >= query.fromMs) &&
    (query.toMs === null || mark.atMs <= query.toMs) &&
    (query.after === null || sign * comparePlaces(mark, query.after) > 0);
}

function inOrder(marks: EventMark[], query: EventQuery): EventMark[] {
  const sign = query.order === 'earliestFirst' ? 1 : -1;
  return marks.sort((a, b) => sign * comparePlaces(a, b));
}

function cut(marks: readonly EventMark[], limit: number): EventPage {
  const page = marks.slice(0, limit);
  const last = page.at(-1);
  return { marks: page, next: marks.length > limit && last !== undefined ? last : null };
}
