// The API's own OpenAPI document as the fuzz reads it: its operations, which of them a request target names, and their answers' schemas.

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Media {
  readonly schema: Schema;
}

interface OperationObject {
  readonly parameters?: readonly Parameter[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
}

export interface Operation {
  /** Method and path template, as in `GET /v2/runs/{messageId}`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly security: 'token' | 'adminToken' | null;
  readonly mediaType: string | null;
  readonly body: Schema | null;
  /** Statuses that the document lists, with the check of a JSON body; null for a body that is no JSON. */
  readonly answers: ReadonlyMap<number, ValidateFunction | null>;
  readonly pattern: RegExp;
}

/** Paths below which a destination follows, slashes and all. */
const DESTINATION_PATHS: ReadonlySet<string> = new Set(['POST /v2/publish/{destination}', 'POST /v2/schedules/{id}']);

export function operationsOf(document: OpenApiDocument): Operation[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, found]): Operation => {
      const method = verb.toUpperCase();
      const name = `${method} ${path}`;
      const [mediaType, media] = Object.entries(found.requestBody?.content ?? {})[0] ?? [null, null];
      const security = Object.keys(found.security?.[0] ?? {})[0];
      return {
        name,
        method,
        path,
        parameters: found.parameters ?? [],
        security: security === 'token' || security === 'adminToken' ? security : null,
        mediaType,
        body: media?.schema ?? null,
        answers: new Map(
          Object.entries(found.responses).map(([status, { content }]) => {
            const json = content?.['application/json'];
            return [Number(status), json === undefined ? null : ajv.compile(json.schema)];
          }),
        ),
        pattern: patternOf(path, DESTINATION_PATHS.has(name)),
      };
    }),
  );
}

function patternOf(path: string, takesDestination: boolean): RegExp {
  const source = path
    .split('/')
    .map((part) => (part.startsWith('{') ? '[^/]+' : part.replaceAll('.', '\\.')))
    .join('/');
  // The destination of a message is all that follows.
  return takesDestination ? new RegExp(`^${source}(?:/.*)?$`, 'is') : new RegExp(`^${source}$`, 's');
}

/**
 * The operation that serves a request, by the rules of HTTP alone: an absolute target counts by its path, HEAD counts as GET, and a segment
 * may be percent-encoded. Null when the document has none.
 */
export function operationOf(operations: readonly Operation[], method: string, target: string): Operation | null {
  const path = decodedSegments(pathOf(target));
  const verb = method === 'HEAD' ? 'GET' : method;
  const fitting = operations.filter((each) => each.method === verb && each.pattern.test(path));
  // A literal path is nearer than one with parameters; one with a destination is the last resort.
  const rank = (each: Operation): number =>
    DESTINATION_PATHS.has(each.name) ? 1_000 : each.path.split('{').length - 1;
  return fitting.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}

/** Whether a target names the operation as the document writes it: percent-encoded nowhere but in its parameters, and in its case. */
export function isSpelledAs({ pattern }: Operation, target: string): boolean {
  return target.startsWith('/') && pattern.test(pathOf(target));
}

/** The path of a request target, still percent-encoded. */
export function pathOf(target: string): string {
  const origin = target.replace(/^https?:\/\/[^/?#]*/i, '');
  const path = origin.split(/[?#]/, 1)[0] ?? '';
  return path.startsWith('/') ? path : `/${path}`;
}

function decodedSegments(path: string): string {
  return path
    .split('/')
    .map((segment) => {
      try {
        return decodeURIComponent(segment).replaceAll('/', '%2F');
      } catch {
        return segment;
      }
    })
    .join('/')
    .replace(/^\/v2\/schedules(?=\/|$)/i, '/v2/schedules');
}
