// What readers may ask of messages, and the parameters of the statements that ask it.

import type { MessageId } from '../../domain/ids.js';
import type { MessageState } from '../../domain/message.js';
import type { Params } from '../database.js';

/** Conditions on messages: any value within one field, all fields together. A field that is not there asks nothing. */
export interface MessageFilter {
  readonly messageIds?: readonly MessageId[];
  readonly scheduleIds?: readonly string[];
  readonly labels?: readonly string[];
  /** Whole destinations, as they were given. */
  readonly urls?: readonly string[];
  /** Hosts of destinations, lower case, with or without the port. */
  readonly hosts?: readonly string[];
  /** Paths of destinations, percent-encoded as in the URL, without the query. */
  readonly paths?: readonly string[];
  readonly callerIps?: readonly string[];
  readonly idempotencyKeys?: readonly string[];
  readonly states?: readonly MessageState[];
  /** Status of the last attempt; 0 stands for "no answer". */
  readonly lastStatuses?: readonly number[];
}

/** Whether the filter asks anything. */
export function isUnfiltered(filter: MessageFilter): boolean {
  return Object.values(filter).every((wanted) => wanted === undefined);
}

/** What the statements that include indexed-filter.sql and residual-filter.sql take for them; null for what is not asked. */
export type FilterParams = Omit<Params<'select-matching'>, 'tenantId' | 'ids'>;

export function filterParams(filter: MessageFilter): FilterParams {
  const { scheduleIds = null } = filter;
  const isOne = scheduleIds?.length === 1;
  return {
    messageIds: filter.messageIds ?? null,
    scheduleId: isOne ? (scheduleIds[0] ?? null) : null,
    scheduleIds: isOne ? null : scheduleIds,
    labels: filter.labels ?? null,
    urls: filter.urls ?? null,
    hosts: filter.hosts ?? null,
    paths: filter.paths ?? null,
    callerIps: filter.callerIps ?? null,
    idempotencyKeys: filter.idempotencyKeys ?? null,
    states: filter.states ?? null,
    lastStatuses: filter.lastStatuses ?? null,
  };
}
