// The events of one millisecond, in which anything may have happened at once: a batch was accepted, a host's messages
// were canceled. They are read message by message, so that no more of them are held than a page needs.

import { fromUuid, messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { Queryable, Row } from '../database.js';
import {
  lowestDue,
  refsOfAttempt,
  refsOfMessage,
  stretches,
  wantedOf,
  wantsAttempts,
  type AttemptRefRow,
  type EventRef,
  type EventState,
} from './events.js';
import { filterParams, type MessageFilter } from '../messages/message-filter.js';

export interface Moment {
  readonly atMs: number;
  readonly filter: MessageFilter;
  readonly states: ReadonlySet<EventState>;
  /** Whether the lowest id comes first. */
  readonly forward: boolean;
  /** The message with which to begin; null for the first. */
  readonly fromId: MessageId | null;
  /** Which of them a page may have: those of the first message may have been in the page before. */
  readonly isWanted: (ref: EventRef) => boolean;
  readonly enough: number;
}

/** How many rows of each kind are read at once: more than a message may have attempts. */
const STEP_ROWS = 2_000;
const DAY_MS = 86_400_000;
const LOWEST_ID = messageIdFloor(0);
const HIGHEST_ID = 'f'.repeat(32);

/** At least `enough` marks, those of whole messages, or all that follow; unordered. */
export async function refsOfMoment(table: Queryable, tenantId: number, moment: Moment): Promise<EventRef[]> {
  const { atMs, filter, states, forward, isWanted, enough } = moment;
  const refs: EventRef[] = [];
  for (let fromId: MessageId | null = moment.fromId ?? (forward ? LOWEST_ID : HIGHEST_ID); fromId !== null;) {
    const range = forward ? { lowId: fromId, highId: HIGHEST_ID } : { lowId: LOWEST_ID, highId: fromId };
    const messages = await messagesOf(table, tenantId, moment, range);
    const attempts = wantsAttempts(states) ? await attemptsOf(table, tenantId, moment, range) : [];
    const lastId = wholeUpTo(messages, attempts, forward);
    const isWhole = ({ id }: { id: string }): boolean =>
      lastId === null || (forward ? fromUuid(id) <= lastId : fromUuid(id) >= lastId);
    const failed = attempts.filter(isWhole);
    const wanted = await wantedOf(table, tenantId, failed, filter);
    const found = [
      ...messages.filter((row) => row.matches && isWhole(row)).flatMap(refsOfMessage),
      ...failed.filter((row) => wanted === null || wanted.has(row.id)).flatMap(refsOfAttempt),
    ];
    refs.push(...found.filter((ref) => ref.atMs === atMs && states.has(ref.state) && isWanted(ref)));
    if (refs.length >= enough) break;
    fromId = lastId === null ? null : neighbour(lastId, forward);
  }
  return refs;
}

/** The message up to which everything was read; null when nothing is left. */
function wholeUpTo(
  messages: readonly { id: string }[],
  attempts: readonly { id: string }[],
  forward: boolean,
): MessageId | null {
  const ends: MessageId[] = [];
  if (messages.length >= STEP_ROWS) ends.push(fromUuid(messages.at(-1)?.id ?? ''));
  if (attempts.length >= STEP_ROWS) {
    // Of the last one some may be missing.
    const last = fromUuid(attempts.at(-1)?.id ?? '');
    ends.push(neighbour(last, !forward) ?? last);
  }
  if (ends.length === 0) return null;
  return ends.reduce((a, b) => (a < b === forward ? a : b));
}

/** The id after (or before) another; null beyond the last. */
function neighbour(id: MessageId, after: boolean): MessageId | null {
  if (id === (after ? HIGHEST_ID : LOWEST_ID)) return null;
  return (BigInt(`0x${id}`) + (after ? 1n : -1n)).toString(16).padStart(32, '0');
}

interface IdRange {
  readonly lowId: MessageId;
  readonly highId: MessageId;
}

async function messagesOf(
  table: Queryable,
  tenantId: number,
  { atMs, filter, states, forward }: Moment,
  { lowId, highId }: IdRange,
): Promise<Row<'select-message-marks-of-moment'>[]> {
  const window = { fromMs: atMs, untilMs: atMs + 1 };
  const lowest = lowestDue(window, states);
  return await table.run('select-message-marks-of-moment', {
    ...filterParams(filter),
    ...stretches(window, states),
    ...{ tenantId, highId },
    lowId: lowId > lowest ? lowId : lowest,
    limit: STEP_ROWS,
    lowestFirst: forward,
  });
}

async function attemptsOf(
  table: Queryable,
  tenantId: number,
  { atMs, forward }: Moment,
  { lowId, highId }: IdRange,
): Promise<AttemptRefRow[]> {
  const beyond = messageIdFloor(atMs + DAY_MS);
  return await table.run('select-attempt-marks-of-moment', {
    ...{ tenantId, fromMs: atMs, untilMs: atMs + 1, lowId },
    highId: highId < beyond ? highId : beyond,
    limit: STEP_ROWS,
    lowestFirst: forward,
  });
}
