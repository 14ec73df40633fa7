// Makes valid requests out of the operations' parameters and schemas; drafts are what the mutations of meaning work on.

import type { SeededRandom } from '../kit/seeded-random.js';
import type { Operation, Parameter, Schema } from './document.js';
import { kindOf, type World } from './values.js';

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Whose token a request carries; `unclear` when a mutation touched the token itself. */
export type Caller = 'default' | 'rival' | 'admin' | 'nobody' | 'unclear';

/** A request in terms of the document. Texts are Unicode; how they are encoded is decided when it is put on the wire. */
export interface Draft {
  readonly operation: Operation;
  caller: Caller;
  readonly path: Map<string, string>;
  readonly query: [name: string, value: string][];
  readonly headers: [name: string, value: string][];
  /** A JSON value, or bytes as they are. */
  body: { json: Json } | { bytes: Buffer } | null;
}

const OPTIONAL_SHARE = 0.12;
/** Of requests for operations that take a body: most of what can be wrong is in them. */
const TAKING_SHARE = 0.3;
/** Longest list of items in a valid batch. */
const ITEMS_MAX = 5;

export class Drafts {
  readonly #settings: { readonly message: readonly Parameter[]; readonly schedule: readonly Parameter[] };

  readonly #taking: readonly Operation[];

  constructor(
    private readonly operations: readonly Operation[],
    private readonly world: World,
  ) {
    this.#taking = operations.filter(({ mediaType }) => mediaType !== null);
    const headersOf = (name: string): Parameter[] =>
      operations.find((each) => each.name === name)?.parameters.filter((each) => each.in === 'header') ?? [];
    this.#settings = {
      message: headersOf('POST /v2/publish/{destination}'),
      schedule: headersOf('POST /v2/schedules/{id}'),
    };
  }

  /** A request for any operation that should succeed, save that what it names may be gone. */
  valid(random: SeededRandom): Draft {
    const operation = random.pick(random.happens(TAKING_SHARE) ? this.#taking : this.operations);
    return this.validOf(operation, random);
  }

  validOf(operation: Operation, random: SeededRandom): Draft {
    const draft: Draft = {
      operation,
      caller: this.#caller(random, operation),
      path: new Map(),
      query: [],
      headers: [],
      body: null,
    };
    for (const parameter of operation.parameters) {
      const isGiven = parameter.required === true || random.happens(OPTIONAL_SHARE);
      if (isGiven && isValidNow(parameter.name)) this.#give(random, draft, parameter);
    }
    fitTogether(draft);
    if (operation.mediaType === '*/*') draft.body = { bytes: Buffer.from(random.pick(['', 'hello', '{"a":[1]}'])) };
    else if (operation.body !== null) draft.body = { json: this.#json(random, operation, operation.body, '') };
    else if (operation.method !== 'GET' && draft.query.length > 0 && random.happens(0.3)) moveToBody(draft);
    return draft;
  }

  /** Setting headers of a message or schedule, for where they are not expected. */
  setting(random: SeededRandom): [name: string, value: string] {
    const { name } = random.pick([...this.#settings.message, ...this.#settings.schedule]);
    return [wireName(name, random), kindOf('', name).valid(random, this.world)];
  }

  #caller(random: SeededRandom, { security }: Operation): Caller {
    if (security === null) return 'default';
    if (security === 'adminToken') return 'admin';
    return random.happens(0.15) ? 'rival' : 'default';
  }

  #give(random: SeededRandom, draft: Draft, parameter: Parameter): void {
    const value = kindOf(draft.operation.name, parameter.name).valid(random, this.world);
    if (parameter.in === 'path') draft.path.set(parameter.name, value);
    else if (parameter.in === 'query') draft.query.push([parameter.name, value]);
    else draft.headers.push([wireName(parameter.name, random), value]);
  }

  #json(random: SeededRandom, operation: Operation, schema: Schema, name: string): Json {
    const type = schema.type ?? schema.anyOf?.[0]?.type;
    if (type === 'array') {
      const count = random.between(1, ITEMS_MAX);
      return Array.from({ length: count }, () => this.#json(random, operation, schema.items ?? {}, name));
    }
    if (type === 'object') {
      const members = Object.entries(schema.properties ?? {}).filter(
        ([member]) => schema.required?.includes(member) === true || (member !== 'queue' && random.happens(0.4)),
      );
      const object: Record<string, Json> = {};
      for (const [member, each] of members) object[member] = this.#json(random, operation, each, member);
      if ('bodyBase64' in object) delete object.body;
      if (operation.path.endsWith('/batch')) object.headers = this.#itemHeaders(random, operation);
      return object;
    }
    if (type === 'boolean') return random.happens(0.5);
    const text = kindOf(operation.name, name).valid(random, this.world);
    return type === 'integer' || type === 'number' ? Number(text) : text;
  }

  #itemHeaders(random: SeededRandom, operation: Operation): Record<string, Json> {
    const isSchedule = operation.path.includes('schedules');
    const draft: Draft = { operation, caller: 'default', path: new Map(), query: [], headers: [], body: null };
    for (const parameter of isSchedule ? this.#settings.schedule : this.#settings.message) {
      if (parameter.name === 'Carillon-Keep') continue;
      if (parameter.required === true || random.happens(OPTIONAL_SHARE)) this.#give(random, draft, parameter);
    }
    fitTogether(draft);
    return Object.fromEntries(draft.headers);
  }
}

/** Valid only where it names what is there, which the settings of a random request do not. */
function isValidNow(name: string): boolean {
  return !['cursor', 'queueName', 'topicName', 'flowControlKey', 'Carillon-Keep'].includes(name);
}

function wireName(name: string, random: SeededRandom): string {
  return name.endsWith('*') ? `${name.slice(0, -1)}X-${random.between(0, 9)}` : name;
}

const BULK: ReadonlySet<string> = new Set(['DELETE /v2/messages', 'DELETE /v2/dlq', 'POST /v2/dlq/retry']);

/** Takes away what contradicts something else of the request. */
function fitTogether({ headers, query, operation }: Draft): void {
  const drop = (name: string): void => {
    for (const list of [headers, query]) {
      const index = list.findIndex(([each]) => each === name);
      if (index !== -1) list.splice(index, 1);
    }
  };
  const has = (name: string): boolean => [...headers, ...query].some(([each]) => each === name);
  if (has('Upstash-Deduplication-Id')) drop('Upstash-Content-Based-Deduplication');
  if (has('Carillon-Idempotency-Key')) {
    if (has('Upstash-Cron')) drop('Carillon-Idempotency-Key');
    drop('Upstash-Deduplication-Id');
    drop('Upstash-Content-Based-Deduplication');
  }
  if (operation.path === '/v2/events' || operation.path === '/v2/logs') drop('messageId');
  // Else one request would leave nothing for all that come after it.
  if (BULK.has(operation.name) && !has('count')) query.push(['count', '2']);
  if (query.some(([name]) => name === 'occurrence') && !query.some(([name]) => name === 'schedule')) drop('occurrence');
}

/** Filters of bulk requests may stand in a JSON object instead. */
function moveToBody(draft: Draft): void {
  const json: Record<string, Json> = {};
  for (const [name, value] of draft.query.splice(0)) json[name] = name === 'count' ? Number(value) : value;
  draft.body = { json };
}
