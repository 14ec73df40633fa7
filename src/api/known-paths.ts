// Distinguishes a path that does not exist from one that exists with other methods, so that a caller with the wrong
// method learns of it.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CarillonError } from '../domain/errors.js';
import type { Access } from './access.js';

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/** Requests with a destination in their path have another path for the router (app.ts). */
const DESTINATION_PATH = /^\/v2\/(?:publish|enqueue|schedules)(?:\/.+)?$/i;

export class KnownPaths {
  readonly #paths = new Map<string, KnownPath>();
  /** By the first segment of a path, who may call the routes below it; without segments whose routes are open. */
  readonly #accesses = new Map<string, Access>();

  /** Collects the routes as they are registered; must be created before them. Answers requests that match no route. */
  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ url, method, config }) => {
      const path = this.#paths.get(url) ?? { pattern: patternOf(url), methods: new Set() };
      this.#paths.set(url, path);
      for (const each of [method].flat()) path.methods.add(each);
      if (config !== undefined && config.access !== 'open') this.#accesses.set(firstSegment(url), config.access);
    });
    app.setNotFoundHandler((request, reply) => this.#refuse(request, reply));
  }

  /**
   * Returns who may learn that a route does not exist. No handler runs for such a request, so this decides only between
   * two refusals: a caller without access to neighbouring routes does not learn which exist.
   */
  accessAround(url: string): Access {
    return this.#accesses.get(firstSegment(decodedPath(url))) ?? 'open';
  }

  #refuse(request: FastifyRequest, reply: FastifyReply): never {
    const path = (request.originalUrl.split('?')[0] ?? '').slice(0, 200);
    const routed = decodedPath(request.url);
    const matching = [...this.#paths.values()].filter(({ pattern }) => pattern.test(routed));
    const methods = new Set(matching.flatMap((each) => [...each.methods]));
    if (DESTINATION_PATH.test(routed)) methods.add('POST');
    // A path that nearly matches one of ours (with an extra slash) accepts the method, but no route answers it.
    if (methods.size === 0 || methods.has(request.method)) {
      const hint = path === '/' ? ': the console is at /admin, the description of the API at /openapi.json' : '';
      throw new CarillonError('NOT_FOUND', `there is no ${request.method} ${path} in this API${hint}`);
    }
    const allowed = [...methods].sort().join(', ');
    void reply.header('allow', allowed);
    throw new CarillonError('METHOD_NOT_ALLOWED', `${path} does not take ${request.method}, only ${allowed}`);
  }
}

/** Returns the path of a URL without query and fragment, percent-decoded if possible, as the router reads it. */
function decodedPath(url: string): string {
  const path = /^[^?#]*/.exec(url)?.[0] ?? '';
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function firstSegment(path: string): string {
  return (path.split('/')[1] ?? '').toLowerCase();
}

/** Returns the pattern of a route's URL: `:name` matches one segment, `*` any rest. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
