// Parts of the API's answers, as schemas with readonly types. Imports nothing of ours, since the console, which is
// compiled without Node.js, also uses the types of the answers.

import { Type } from '@sinclair/typebox';

export const texts = Type.Unsafe<readonly string[]>(Type.Array(Type.String()));

export const headers = Type.Unsafe<Readonly<Record<string, readonly string[]>>>(
  Type.Record(Type.String(), Type.Array(Type.String())),
);

export const oneOf = <const Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values] });
