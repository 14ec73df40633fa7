// /admin/nodes, /admin/shards: the nodes and the shards that they own. For administrators only.

import { Type, type Static } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { CarillonError } from '../../domain/errors.js';
import { readShards } from '../../postgres/shards/epochs.js';
import { NodeView, ShardView } from '../access-schemas.js';
import { responses } from '../openapi.js';
import type { ApiServices } from '../services.js';

const NodePath = Type.Object({ id: Type.String({ description: "The node's id" }) });

export function registerCluster(app: FastifyInstance, { cluster, database }: ApiServices): void {
  const common = { tags: ['cluster'] };

  app.get(
    '/admin/nodes',
    {
      config: { access: 'admin' },
      schema: {
        ...common,
        summary: 'List the nodes',
        description: 'As the answering node saw them at its last heartbeat.',
        response: responses({ 200: Type.Object({ nodes: Type.Array(NodeView) }) }, 401, 403, 503),
      },
    },
    () => {
      const owners = cluster.owners();
      return {
        nodes: cluster.members().map(({ id, name, uptimeMs, heardMs, draining }) => {
          const shards = owners.filter((owner) => owner === id).length;
          return { id, name, uptimeMs, heardMs: Math.round(heardMs), shards, draining };
        }),
      };
    },
  );
  app.get(
    '/admin/shards',
    {
      config: { access: 'admin' },
      schema: {
        ...common,
        summary: 'List the shards with their owners',
        response: responses({ 200: Type.Object({ shards: Type.Array(ShardView) }) }, 401, 403, 503),
      },
    },
    async () => {
      const owners = cluster.owners();
      const names = new Map(cluster.members().map(({ id, name }) => [id, name]));
      const rows = await readShards(database);
      const shards = rows.map(({ shard, epoch }) => {
        const owner = owners[shard] ?? null;
        const node = owner === null ? undefined : names.get(owner);
        return node === undefined ? { shard, owner: null, node: null, epoch } : { shard, owner, node, epoch };
      });
      return { shards };
    },
  );
  app.post<{ Params: Static<typeof NodePath> }>(
    '/admin/nodes/:id/drain',
    {
      config: { access: 'admin' },
      schema: {
        ...common,
        summary: 'Drain a node',
        description:
          'It hands over its shards, acquires no more and is not ready from then on; its process runs until it is stopped. May be sent to any node.',
        params: NodePath,
        response: responses({ 202: Type.Object({ id: Type.String() }) }, 401, 403, 404, 503),
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      if (!cluster.members().some((member) => member.id === id)) {
        throw new CarillonError('NOT_FOUND', `there is no node "${id}"; GET /admin/nodes lists the existing ones`);
      }
      await cluster.drain(id);
      return reply.code(202).send({ id });
    },
  );
}
