// Parses the parameters of a list or bulk request from its query and JSON body. Unknown names are refused, since a
// mistyped filter must never widen what is deleted.

import type { FastifyRequest } from 'fastify';
import { CarillonError } from '../domain/errors.js';
import { fromWireMessageId, type MessageId } from '../domain/ids.js';
import type { MessageState } from '../domain/message.js';
import { nearestName } from '../domain/nearest-name.js';
import type { MessageFilter } from '../postgres/messages/message-filter.js';
import { parseInstant } from './instant.js';
import { parseJson } from './json-body.js';

/** Most values of one parameter. */
const MAX_VALUES = 1_000;
const VALUE_MAX_LENGTH = 8_192;

/** The parameters of a request by name; each may have several values. */
export class Parameters {
  constructor(private readonly values: ReadonlyMap<string, readonly string[]>) {}

  has(...names: string[]): boolean {
    return names.some((name) => this.values.has(name));
  }

  /** Returns the values verbatim, none of them empty; null when the parameter is absent. */
  all(...names: string[]): string[] | null {
    if (!this.has(...names)) return null;
    return [...new Set(names.flatMap((name) => this.values.get(name) ?? []))];
  }

  /** Like `all`, but splits values at commas. */
  list(...names: string[]): string[] | null {
    const texts = this.all(...names);
    if (texts === null || texts.length === 0) return texts;
    const parts = texts.flatMap((value) => value.split(',')).map((part) => part.trim());
    const values = [...new Set(parts.filter((part) => part !== ''))];
    if (values.length === 0) throw empty(names[0] ?? '');
    return values;
  }

  /** Returns the only value; null when the parameter is absent. Throws INVALID_REQUEST when there are several. */
  one(name: string): string | null {
    const values = this.all(name);
    if (values === null || values.length === 0) return null;
    if (values.length === 1) return values[0] ?? null;
    throw invalid(`${name} is given ${values.length} times, expected once`);
  }

  /** Returns a whole number from 1 to `max`; with `capped` a larger one counts as `max` instead of being refused. */
  count(defaultCount: number, max: number, capped: boolean): number {
    const text = this.one('count');
    if (text === null) return defaultCount;
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (count >= 1 && (count <= max || capped)) return Math.min(count, max);
    throw invalid(`count is ${shown(text)}, expected a whole number from 1 to ${max}`);
  }

  /** Returns a time in epoch milliseconds. A date alone means its first (or last) millisecond, UTC. */
  instant(name: string, ofDate: 'first' | 'last'): number | null {
    const text = this.one(name);
    if (text === null) return null;
    if (/^\d{4}-\d\d-\d\d$/.test(text)) {
      return parseInstant(`${text}T${ofDate === 'first' ? '00:00:00.000' : '23:59:59.999'}Z`, name, 'milliseconds');
    }
    // A "+" in a query means a blank, and few clients send %2B.
    return parseInstant(text.replace(/ (\d\d:?\d\d)$/, '+$1'), name, 'milliseconds');
  }
}

/**
 * Returns the parameters of a request: query keys (repeated or not) and, with `withBody`, the members of a JSON object
 * in the body. Throws INVALID_REQUEST for a name that is not `known`, an empty value, or too many values.
 */
export function readParameters(request: FastifyRequest, known: readonly string[], withBody = false): Parameters {
  const values = new Map<string, string[]>();
  const add = (name: string, value: unknown, place: string): void => {
    if (!known.includes(name)) throw unknownName(name, known, place);
    const texts = (Array.isArray(value) ? value : [value]).map((item) => textOf(item, name));
    const all = [...(values.get(name) ?? []), ...texts];
    if (all.length > MAX_VALUES) {
      throw new CarillonError('LIMIT_EXCEEDED', `${name} has ${all.length} values, at most ${MAX_VALUES} are allowed`);
    }
    values.set(name, all);
  };
  for (const [name, value] of Object.entries(request.query as Record<string, unknown>)) {
    add(name, value, 'query parameter');
  }
  if (withBody) {
    for (const [name, value] of Object.entries(bodyObject(request))) {
      if (value !== null) add(name, value, 'member of the body');
    }
  }
  return new Parameters(values);
}

function bodyObject(request: FastifyRequest): object {
  const value = parseJson(request) ?? {};
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  throw invalid('the body is JSON but no object, expected an object of filters, or no body');
}

function textOf(value: unknown, name: string): string {
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw invalid(`${name} is ${shown(JSON.stringify(value))}, expected a string or a list of strings`);
  }
  const text = String(value);
  if (text.trim() === '') throw empty(name);
  // PostgreSQL's text cannot contain NUL, so no row matches it.
  if (text.length > VALUE_MAX_LENGTH || text.includes('\0'))
    throw invalid(`${name} is too long, or has a NUL character`);
  return text;
}

function unknownName(name: string, known: readonly string[], place: string): CarillonError {
  return invalid(`${shown(name)} is no ${place} here; did you mean ${nearestName(name.slice(0, 64), known)}?`);
}

function empty(name: string): CarillonError {
  return invalid(`${name} is empty; give a value or leave it out`);
}

export function invalid(text: string): CarillonError {
  return new CarillonError('INVALID_REQUEST', text);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

/** Filters that several resources share, by their wire names. */
export const MESSAGE_FILTERS = ['url', 'host', 'path', 'label', 'scheduleId', 'callerIp', 'callerIP'] as const;
export const DATE_FILTERS = ['fromDate', 'toDate'] as const;

/** Filters by features of later releases: they are refused, so that a result does not look as if they were applied. */
const LATER_FILTERS = {
  queueName: 'queues are',
  topicName: 'URL groups are',
  flowControlKey: 'flow control is',
} as const;
export const LATER_FILTER_NAMES = Object.keys(LATER_FILTERS) as (keyof typeof LATER_FILTERS)[];

/** Returns the shared filters. Throws NOT_IMPLEMENTED for those of later releases. */
export function readMessageFilter(parameters: Parameters): MessageFilter {
  for (const name of LATER_FILTER_NAMES) {
    if (!parameters.has(name)) continue;
    throw new CarillonError(
      'NOT_IMPLEMENTED',
      `${name}: ${LATER_FILTERS[name]} not implemented yet, so no message can be chosen by them; leave the filter out`,
    );
  }
  return defined({
    // URLs and paths may contain commas, so these are not split.
    urls: parameters.all('url'),
    hosts: readHosts(parameters),
    paths: parameters.all('path'),
    labels: parameters.list('label'),
    scheduleIds: parameters.list('scheduleId'),
    callerIps: parameters.list('callerIp', 'callerIP'),
  });
}

/** Returns hosts of destinations, with or without their port. */
export function readHosts(parameters: Parameters): string[] | null {
  return parameters.list('host')?.map((host) => host.toLowerCase()) ?? null;
}

/** Returns fromDate and toDate, both inclusive. Throws INVALID_REQUEST when they are in the wrong order. */
export function readDates(
  parameters: Parameters,
  fromName = 'fromDate',
  toName = 'toDate',
): { fromMs: number | null; toMs: number | null } {
  const fromMs = parameters.instant(fromName, 'first');
  const toMs = parameters.instant(toName, 'last');
  if (fromMs !== null && toMs !== null && fromMs > toMs) throw invalid(`${fromName} is later than ${toName}`);
  return { fromMs, toMs };
}

/** Returns message ids from their wire form. Texts that cannot be ids are ignored; null when there were none. */
export function readMessageIds(texts: readonly string[] | null): MessageId[] | null {
  return texts?.flatMap((text) => fromWireMessageId(text) ?? []) ?? null;
}

const RUN_STATES = ['pending', 'delivered', 'failed', 'canceled', 'skipped'] as const satisfies readonly MessageState[];

/** Returns states of the record; also accepts "cancelled". */
export function readRunStates(parameters: Parameters): MessageState[] | null {
  return (
    parameters.list('state')?.map((text) => {
      const name = text.toLowerCase() === 'cancelled' ? 'canceled' : text.toLowerCase();
      const state = RUN_STATES.find((known) => known === name);
      if (state !== undefined) return state;
      throw invalid(`state is ${shown(text)}, expected one or several of ${RUN_STATES.join(', ')}`);
    }) ?? null
  );
}

/** Returns a filter of the fields that are not null. */
export function defined(fields: {
  readonly [Name in keyof MessageFilter]: MessageFilter[Name] | null;
}): MessageFilter {
  return Object.fromEntries(Object.entries(fields).filter(([, wanted]) => wanted !== null));
}
