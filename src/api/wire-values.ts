// Parts of what the API answers, as schemas whose types nobody changes. Of ours it imports nothing, since the console page, which is compiled
// without Node.js, has the types of the answers as well.

import { Type } from '@sinclair/typebox';

export const texts = Type.Unsafe<readonly string[]>(Type.Array(Type.String()));

export const headers = Type.Unsafe<Readonly<Record<string, readonly string[]>>>(
  Type.Record(Type.String(), Type.Array(Type.String())),
);

export const oneOf = <const Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values] });
