// Parts of the wire contract that are not implemented yet: they answer so.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CarillonError } from '../../domain/errors.js';

const ANY_METHOD = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const MISSING: readonly (readonly [what: string, ...paths: string[]])[] = [
  ['queues are', '/v2/enqueue', '/v2/enqueue/*', '/v2/queues', '/v2/queues/*'],
  ['URL groups are', '/v2/topics', '/v2/topics/*'],
  ['flow control is', '/v2/flowControl', '/v2/flowControl/*', '/v2/globalParallelism'],
  [
    'workflows are',
    ...['/v2/workflows', '/v2/workflows/*', '/v2/trigger', '/v2/trigger/*', '/v2/notify', '/v2/notify/*'],
    ...['/v2/wait', '/v2/wait/*'],
  ],
  ['language models are', '/llm/*', '/v2/llm', '/v2/llm/*'],
];

export function registerNotImplemented(app: FastifyInstance): void {
  for (const [what, ...paths] of MISSING) {
    const refuse = (_request: FastifyRequest, _reply: FastifyReply): never => {
      throw new CarillonError('NOT_IMPLEMENTED', `${what} not implemented yet`);
    };
    for (const url of paths) {
      app.route({
        method: ANY_METHOD,
        url,
        config: { access: 'tenant' },
        schema: { hide: true },
        exposeHeadRoute: false,
        handler: refuse,
      });
    }
  }
}
