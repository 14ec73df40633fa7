// Reads what a list or bulk request asks for, out of its query and its JSON body; a name that does not exist is refused, since a typo
// in a filter must never widen what is deleted.

import type { FastifyRequest } from 'fastify';
import { CarillonError } from '../domain/errors.js';
import { fromWireMessageId, type MessageId } from '../domain/ids.js';
import type { MessageState } from '../domain/message.js';
import { nearestName } from '../domain/nearest-name.js';
import type { MessageFilter } from '../postgres/messages/message-filter.js';
import { parseInstant } from './instant.js';
import { parseJson } from './json-body.js';

/** Most values that one parameter may have. */
const MAX_VALUES = 1_000;
const VALUE_MAX_LENGTH = 8_192;

/** The parameters of a request by name; each may have several values. */
export class Parameters {
  constructor(private readonly values: ReadonlyMap<string, readonly string[]>) {}

  has(...names: string[]): boolean {
    return names.some((name) => this.values.has(name));
  }

  /** The values as they were given, none of them empty; null when the parameter is not there. */
  all(...names: string[]): string[] | null {
    if (!this.has(...names)) return null;
    return [...new Set(names.flatMap((name) => this.values.get(name) ?? []))];
  }

  /** Like `all`, with values that are lists separated by commas taken apart. */
  list(...names: string[]): string[] | null {
    const given = this.all(...names);
    if (given === null || given.length === 0) return given;
    const parts = given.flatMap((value) => value.split(',')).map((part) => part.trim());
    const values = [...new Set(parts.filter((part) => part !== ''))];
    if (values.length === 0) throw empty(names[0] ?? '');
    return values;
  }

  /** The only value; null when the parameter is not there. Throws INVALID_REQUEST when there are several. */
  one(name: string): string | null {
    const given = this.all(name);
    if (given === null || given.length === 0) return null;
    if (given.length === 1) return given[0] ?? null;
    throw invalid(`${name} is given ${given.length} times, expected once`);
  }

  /** A whole number from 1 to `max`; `capped` takes a larger one for `max` instead of refusing it. */
  count(defaultCount: number, max: number, capped: boolean): number {
    const text = this.one('count');
    if (text === null) return defaultCount;
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (count >= 1 && (count <= max || capped)) return Math.min(count, max);
    throw invalid(`count is ${shown(text)}, expected a whole number from 1 to ${max}`);
  }

  /** A time in epoch milliseconds. A date alone stands for its first (or last) millisecond, UTC. */
  instant(name: string, ofDate: 'first' | 'last'): number | null {
    const text = this.one(name);
    if (text === null) return null;
    if (/^\d{4}-\d\d-\d\d$/.test(text)) {
      return parseInstant(`${text}T${ofDate === 'first' ? '00:00:00.000' : '23:59:59.999'}Z`, name, 'milliseconds');
    }
    // A "+" in a query stands for a blank, and few people write %2B.
    return parseInstant(text.replace(/ (\d\d:?\d\d)$/, '+$1'), name, 'milliseconds');
  }
}

/**
 * The parameters of a request: query keys (repeated or not) and, where `withBody`, the members of a JSON object in the body.
 * Throws INVALID_REQUEST for a name that is not `known`, an empty value, or too many of them.
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
  // PostgreSQL's text cannot hold NUL, so nothing there has it.
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

/** Filters that several resources share, by the names they have on the wire. */
export const MESSAGE_FILTERS = ['url', 'host', 'path', 'label', 'scheduleId', 'callerIp', 'callerIP'] as const;
export const DATE_FILTERS = ['fromDate', 'toDate'] as const;

/** Filters by features of later releases: a message that has none of them must not seem to have been looked for. */
const LATER_FILTERS = {
  queueName: 'queues are',
  topicName: 'URL groups are',
  flowControlKey: 'flow control is',
} as const;
export const LATER_FILTER_NAMES = Object.keys(LATER_FILTERS) as (keyof typeof LATER_FILTERS)[];

/** The shared filters. Throws NOT_IMPLEMENTED for those of later releases. */
export function readMessageFilter(parameters: Parameters): MessageFilter {
  for (const name of LATER_FILTER_NAMES) {
    if (!parameters.has(name)) continue;
    throw new CarillonError(
      'NOT_IMPLEMENTED',
      `${name}: ${LATER_FILTERS[name]} not implemented yet, so no message can be chosen by them; leave the filter out`,
    );
  }
  return defined({
    // URLs and paths may contain commas, so these are not taken apart.
    urls: parameters.all('url'),
    hosts: readHosts(parameters),
    paths: parameters.all('path'),
    labels: parameters.list('label'),
    scheduleIds: parameters.list('scheduleId'),
    callerIps: parameters.list('callerIp', 'callerIP'),
  });
}

/** Hosts of destinations, with or without their port. */
export function readHosts(parameters: Parameters): string[] | null {
  return parameters.list('host')?.map((host) => host.toLowerCase()) ?? null;
}

/** fromDate and toDate, both inclusive. Throws INVALID_REQUEST when they are the wrong way round. */
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

/** Message ids as given on the wire. What cannot be an id names nothing and is left out; null when none were given. */
export function readMessageIds(given: readonly string[] | null): MessageId[] | null {
  return given?.flatMap((text) => fromWireMessageId(text) ?? []) ?? null;
}

const RUN_STATES = ['pending', 'delivered', 'failed', 'canceled', 'skipped'] as const satisfies readonly MessageState[];

/** States of the record; "cancelled" is understood as well. */
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

/** A filter of those fields that are not null. */
export function defined(fields: {
  readonly [Name in keyof MessageFilter]: MessageFilter[Name] | null;
}): MessageFilter {
  return Object.fromEntries(Object.entries(fields).filter(([, wanted]) => wanted !== null));
}
