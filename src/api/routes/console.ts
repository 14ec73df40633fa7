// The console at /admin: files without secrets, for everybody; the data in it needs an administrator's token.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiServices, ServedFile } from '../services.js';

/** Everything comes from the node itself, and no page may embed the console. */
const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'", "connect-src 'self'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ');
const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
};
const IMMUTABLE = 'public, max-age=31536000, immutable';
/** Revalidated each time, and answered with 304. */
const REVALIDATED = 'no-cache';

const NOT_BUILT = 'The console is not built here: run "npm run build" and load this page again.\n';

export function registerConsole(app: FastifyInstance, { page }: ApiServices): void {
  const options = { schema: { hide: true }, config: { access: 'open' } } as const;
  const serve = async (request: FastifyRequest, reply: FastifyReply, name: string): Promise<FastifyReply> => {
    const file = (await page?.find(name)) ?? null;
    if (file !== null) return send(request, reply, file);
    return reply
      .code(404)
      .headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
      .type('text/plain; charset=utf-8')
      .send(name === '' ? NOT_BUILT : 'There is no such file.\n');
  };
  app.get('/admin', options, (request, reply) => serve(request, reply, ''));
  app.get('/admin/', options, (request, reply) => serve(request, reply, ''));
  app.get<{ Params: { '*': string } }>('/admin/assets/*', options, (request, reply) =>
    serve(request, reply, `assets/${request.params['*']}`),
  );
  // A name with a dot is a file; the rest of /admin is the API.
  app.get<{ Params: { file: string } }>('/admin/:file(^[\\w-]+\\.[a-z0-9]+$)', options, (request, reply) =>
    serve(request, reply, request.params.file),
  );
}

function send(request: FastifyRequest, reply: FastifyReply, file: ServedFile): FastifyReply {
  const { body, gzipped, mediaType, etag, isImmutable } = file;
  void reply.headers({
    ...HEADERS,
    etag,
    vary: 'accept-encoding',
    'cache-control': isImmutable ? IMMUTABLE : REVALIDATED,
  });
  if (request.headers['if-none-match']?.includes(etag) === true) return reply.code(304).send();
  void reply.type(mediaType);
  const takesGzip = /\bgzip\b(?!;\s*q=0(?:\.0*)?(?:\s|,|$))/.test(request.headers['accept-encoding'] ?? '');
  if (gzipped === null || !takesGzip) return reply.send(body);
  return reply.header('content-encoding', 'gzip').send(gzipped);
}
