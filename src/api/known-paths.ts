// Tells a path that does not exist from one that exists with other methods, which is what a caller with the wrong method needs to hear.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CarillonError } from '../domain/errors.js';
import type { Access } from './access.js';

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/** What has a destination in its path: the router knows it under another path (app.ts). */
const DESTINATION_PATH = /^\/v2\/(?:publish|enqueue|schedules)(?:\/.+)?$/i;

export class KnownPaths {
  readonly #paths = new Map<string, KnownPath>();
  /** By the first segment of a path, who may call what is below it; without segments that are open. */
  readonly #accesses = new Map<string, Access>();

  /** To be made before the routes, which it gets to know as they come. Answers requests that no route takes. */
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
   * Who may hear that there is no such route. No handler runs for such a request, so this decides only between two refusals: callers who
   * may not call anything there are not told what there is.
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
    // A path that only nearly is one of ours (a slash too many) takes the method, and nothing answers it.
    if (methods.size === 0 || methods.has(request.method)) {
      const hint = path === '/' ? ': the console is at /admin, the description of the API at /openapi.json' : '';
      throw new CarillonError('NOT_FOUND', `there is no ${request.method} ${path} in this API${hint}`);
    }
    const allowed = [...methods].sort().join(', ');
    void reply.header('allow', allowed);
    throw new CarillonError('METHOD_NOT_ALLOWED', `${path} does not take ${request.method}, only ${allowed}`);
  }
}

/** The path of a URL without query and fragment, percent-decoded where that is possible, as the router reads it. */
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

/** A route's URL with `:name` for one segment and `*` for any rest. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
