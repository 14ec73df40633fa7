// The API's answers about tenants, tokens, signing keys, nodes and shards: the schemas of the OpenAPI document, and the
// types of the API and the CLI.

import { type Static, Type } from '@sinclair/typebox';

const Expiry = Type.Union([Type.Integer(), Type.Null()], { description: 'Epoch milliseconds; null: never' });
export const TokenView = Type.Object({
  id: Type.String({ description: 'First 16 hexadecimal digits of its SHA-256' }),
  label: Type.String(),
  source: Type.Union([Type.Literal('created'), Type.Literal('environment')], {
    description: '"environment": set as CARILLON_TOKEN or CARILLON_ADMIN_TOKEN of the node that was started last',
  }),
  createdAt: Type.Integer({ description: 'Epoch milliseconds' }),
  expiresAt: Expiry,
  lastUsedAt: Type.Union([Type.Integer(), Type.Null()], { description: 'Epoch milliseconds, to the minute' }),
});

export const CreatedToken = Type.Object({
  id: Type.String(),
  label: Type.String(),
  expiresAt: Expiry,
  token: Type.String({ description: 'Shown this once; only its hash is kept' }),
});

export const TenantView = Type.Object({
  name: Type.String(),
  createdAt: Type.Integer({ description: 'Epoch milliseconds' }),
});

export const SigningKeysView = Type.Object(
  { current: Type.String(), next: Type.String() },
  { description: 'Deliveries are signed with current; receivers accept both' },
);

export const NodeView = Type.Object({
  id: Type.String({ description: 'Identifies the process: its name and a random suffix' }),
  name: Type.String({ description: 'CARILLON_NODE_NAME' }),
  uptimeMs: Type.Integer(),
  heardMs: Type.Integer({ description: 'Since its last heartbeat' }),
  shards: Type.Integer({ description: 'How many it owns' }),
  draining: Type.Boolean(),
});

export const ShardView = Type.Object({
  shard: Type.Integer(),
  owner: Type.Union([Type.String(), Type.Null()], { description: "The owning node's id; null without an owner" }),
  node: Type.Union([Type.String(), Type.Null()], { description: "The owner's name" }),
  epoch: Type.Integer({ description: 'Raised at each change of owner' }),
});

export type TokenShown = Static<typeof TokenView>;
export type CreatedTokenShown = Static<typeof CreatedToken>;
export type TenantShown = Static<typeof TenantView>;
export type SigningKeysShown = Static<typeof SigningKeysView>;
export type NodeShown = Static<typeof NodeView>;
export type ShardShown = Static<typeof ShardView>;
