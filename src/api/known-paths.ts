// Tells a path that does not exist from one that exists with other methods, which is what a caller with the wrong method needs to hear.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CarillonError } from '../domain/errors.js';

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/** What has a destination in its path: the router knows it under another path (app.ts). */
const DESTINATION_PATH = /^\/v2\/(?:publish|enqueue|schedules)(?:\/.+)?$/i;

/** To be registered before the routes, which it gets to know as they come. */
export function answerUnknownPaths(app: FastifyInstance): void {
  const known = new Map<string, KnownPath>();
  app.addHook('onRoute', ({ url, method }) => {
    const path = known.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    known.set(url, path);
    for (const each of [method].flat()) path.methods.add(each);
  });
  app.setNotFoundHandler((request, reply) => refuse(request, reply, [...known.values()]));
}

function refuse(request: FastifyRequest, reply: FastifyReply, known: readonly KnownPath[]): never {
  const path = (request.originalUrl.split('?')[0] ?? '').slice(0, 200);
  const routed = request.url.split('?')[0] ?? '';
  const methods = new Set(known.filter(({ pattern }) => pattern.test(routed)).flatMap((each) => [...each.methods]));
  if (DESTINATION_PATH.test(routed)) methods.add('POST');
  if (methods.size === 0) {
    throw new CarillonError('NOT_FOUND', `there is no ${request.method} ${path} in this API`);
  }
  const allowed = [...methods].sort().join(', ');
  void reply.header('allow', allowed);
  throw new CarillonError('METHOD_NOT_ALLOWED', `${path} does not take ${request.method}, only ${allowed}`);
}

/** A route's URL with `:name` for one segment and `*` for any rest. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    return part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
