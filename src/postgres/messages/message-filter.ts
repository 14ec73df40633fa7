// What readers may ask of messages, and how it is put into the statements: fixed conditions, values as parameters, no text of a client's.

import type { MessageId } from '../../domain/ids.js';
import type { MessageState } from '../../domain/message.js';
import { sql } from '../sql.js';

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

type Field = keyof MessageFilter;
type Condition = (parameter: string, values: number) => string;

const AUTHORITY = `lower(substring(m.destination from '^[A-Za-z]+://(?:[^/?#]*@)?([^/?#]*)'))`;
const PATH = `coalesce(nullif(substring(m.destination from '^[A-Za-z]+://[^/?#]*([^?#]*)'), ''), '/')`;

const HAS_LABEL: Condition = (parameter) => `m.labels && ${parameter}::text[]`;

/** An index of `messages` answers these, so they stand where rows are looked for. */
const INDEXED: Partial<Record<Field, Condition>> = {
  messageIds: (parameter) => `m.id = any(${parameter}::uuid[])`,
  // Of one schedule the index gives the runs in their order: a page then reads no more than a page, however many there are.
  scheduleIds: (parameter, values) =>
    values === 1 ? `m.schedule_id = (${parameter}::text[])[1]` : `m.schedule_id = any(${parameter}::text[])`,
  labels: HAS_LABEL,
};

/** No index answers these: they stand where the rows that were found, a bounded number, are looked at. */
const RESIDUAL: Partial<Record<Field, Condition>> = {
  urls: (parameter) => `m.destination = any(${parameter}::text[])`,
  hosts: (parameter) =>
    `(${AUTHORITY} = any(${parameter}::text[]) or regexp_replace(${AUTHORITY}, ':[0-9]*$', '') = any(${parameter}::text[]))`,
  paths: (parameter) => `${PATH} = any(${parameter}::text[])`,
  callerIps: (parameter) => `coalesce(m.options->>'callerIp' = any(${parameter}::text[]), false)`,
  idempotencyKeys: (parameter) => `coalesce(m.idempotency_key = any(${parameter}::text[]), false)`,
  states: (parameter) => `m.state = any(${parameter}::text[])`,
  lastStatuses: (parameter) => `coalesce(m.last_status, 0) = any(${parameter}::integer[])`,
};

/** Whether the filter asks anything. */
export function isUnfiltered(filter: MessageFilter): boolean {
  return Object.values(filter).every((wanted) => wanted === undefined);
}

export interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** For a walk: the index of labels knows no order. */
const { labels: _unordered, ...ORDERED } = INDEXED;
const WALKED: Partial<Record<Field, Condition>> = { ...RESIDUAL, labels: HAS_LABEL };

/**
 * sql/<name>.sql with the filter in its two marked places (`indexed`, `residual`). `fixed` are the values of the
 * statement's own parameters; those of the filter follow. Rows of `messages` are called `m` there. `byWalking`: labels are asked of the
 * rows that were found, and not of their index.
 */
export function withFilter(
  name: string,
  fixed: readonly unknown[],
  filter: MessageFilter,
  byWalking = false,
): Statement {
  const values = [...fixed];
  const conditions = (known: Partial<Record<Field, Condition>>): string => {
    const parts = (Object.entries(known) as [Field, Condition][]).flatMap(([field, condition]) => {
      const wanted = filter[field];
      return wanted === undefined ? [] : [condition(`$${values.push(wanted)}`, wanted.length)];
    });
    return parts.length === 0 ? 'true' : `(${parts.join(' and ')})`;
  };
  const indexed = conditions(byWalking ? ORDERED : INDEXED);
  const residual = conditions(byWalking ? WALKED : RESIDUAL);
  // Functions, since "$'" in a replacement text would mean something.
  const text = sql(name)
    .replaceAll('/*indexed*/ true', () => indexed)
    .replaceAll('/*residual*/ true', () => residual);
  return { text, values };
}
