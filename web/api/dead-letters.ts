// What the page asks and does about dead letters. Many are handled a part at a time, so that there is progress to show and a stop.

import { following, type Page } from './gather.js';
import { request } from './request.js';
import type { DeadLetter } from './answer-types.js';

/** Dead letters of one destination that failed in one way. */
export interface LetterGroup {
  readonly url: string;
  /** 0: there was no answer. */
  readonly responseStatus: number;
  readonly error: string | null;
  readonly count: number;
  /** ISO 8601. */
  readonly firstAt: string;
  readonly latestAt: string;
}

export interface LetterGroups {
  readonly groups: readonly LetterGroup[];
  /** How many dead letters were looked at. */
  readonly counted: number;
  /** False when there are more than were looked at. */
  readonly complete: boolean;
}

export interface LetterFilter {
  readonly url?: string;
  readonly responseStatus?: string;
}

/** So many are read for the groups that a tenant's own token sees. */
const GROUPED_BY_PAGE = { pages: 5, count: 100 };
/** So many are handled in one call. */
const PART = 100;

/** By the node for an administrator; a tenant's token has the latest few hundred grouped here. */
export async function letterGroups(tenant: string, signal: AbortSignal): Promise<LetterGroups> {
  if (tenant !== '') return request('/admin/dlq/groups', { query: { tenant }, signal });
  const deadLetters: DeadLetter[] = [];
  let cursor = '';
  for (let page = 0; page < GROUPED_BY_PAGE.pages && (page === 0 || cursor !== ''); page += 1) {
    const read = await listDeadLetters({}, { cursor, count: GROUPED_BY_PAGE.count, signal });
    deadLetters.push(...read.items);
    cursor = following(cursor, read.cursor) ?? '';
  }
  return { groups: grouped(deadLetters), counted: deadLetters.length, complete: cursor === '' };
}

function grouped(deadLetters: readonly DeadLetter[]): LetterGroup[] {
  const groups = new Map<string, LetterGroup>();
  for (const { url, responseStatus, responseError = null, dlqId } of deadLetters) {
    const key = `${url}\n${responseStatus}\n${responseError ?? ''}`;
    const diedAt = new Date(diedAtMs(dlqId)).toISOString();
    const group = groups.get(key) ?? {
      url,
      responseStatus,
      error: responseError,
      count: 0,
      firstAt: diedAt,
      latestAt: diedAt,
    };
    groups.set(key, { ...group, count: group.count + 1, firstAt: diedAt < group.firstAt ? diedAt : group.firstAt });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

/** The id begins with the time of death. */
export function diedAtMs(dlqId: string): number {
  return Number(/^\d+/.exec(dlqId)?.[0] ?? 0);
}

export async function listDeadLetters(
  filter: LetterFilter,
  { cursor, count, signal }: { cursor: string; count: number; signal: AbortSignal },
): Promise<Page<DeadLetter>> {
  const { messages, cursor: next } = await request<{ messages: DeadLetter[]; cursor?: string }>('/v2/dlq', {
    query: { ...filter, count: String(count), cursor },
    signal,
  });
  return { items: messages, cursor: next };
}

export function retryLetter(dlqId: string): Promise<{ messageId: string }> {
  return request(`/v2/dlq/retry/${encodeURIComponent(dlqId)}`, { method: 'POST' });
}

export interface Handling {
  readonly what: 'retry' | 'delete';
  /** These, or all that match. */
  readonly deadLetters: { readonly ids: readonly string[] } | LetterFilter;
  readonly onProgress: (done: number) => void;
  readonly signal: AbortSignal;
}

/** Retries or deletes many, part by part. Gives how many were handled; stops between parts when told to. */
export async function handleDeadLetters({ what, deadLetters: letters, onProgress, signal }: Handling): Promise<number> {
  let done = 0;
  // What dies from now on is not meant: a retry that fails at once must not be retried in circles.
  const until = { toDate: Date.now() };
  const handle = async (body: object): Promise<string | undefined> => {
    const answer =
      what === 'retry'
        ? await request<{ responses: unknown[]; cursor?: string }>('/v2/dlq/retry', { method: 'POST', body })
        : await request<{ deleted: number; cursor?: string }>('/v2/dlq', { method: 'DELETE', body });
    done += 'responses' in answer ? answer.responses.length : answer.deleted;
    onProgress(done);
    return answer.cursor;
  };
  if ('ids' in letters) {
    for (let at = 0; at < letters.ids.length && !signal.aborted; at += PART) {
      await handle({ dlqIds: letters.ids.slice(at, at + PART), count: PART });
    }
    return done;
  }
  let cursor = '';
  do {
    const next = await handle({ ...letters, ...until, count: PART, ...(cursor === '' ? {} : { cursor }) });
    cursor = following(cursor, next) ?? '';
  } while (cursor !== '' && !signal.aborted);
  return done;
}
