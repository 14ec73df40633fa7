// Arrays of columns in PostgreSQL's binary form: multi-row statements carry thousands of values, and writing each as text, to be parsed
// again by the server, costs both sides more than the rows themselves.

/** How the elements of a type are written; the sizes are without the length that stands before each. */
interface ElementFormat {
  readonly oid: number;
  /** Bytes of a value; null for one that has no binary form here. */
  readonly size: (value: unknown) => number | null;
  /** Writes a value for which `size` gave a number. */
  readonly write: (target: Buffer, at: number, value: never) => void;
}

const NULL_LENGTH = -1;
const HEADER_BYTES = 20;
/** PostgreSQL counts from 2000 on. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
/** Further ones have no ISO 8601 text either. */
const MAX_TIME_MS = 8.64e15;
const HEX_32 = /^[0-9a-f]{32}$/;
const JSONB_VERSION = 1;

const isInteger = (bytes: number) => {
  const limit = Math.min(2 ** (8 * bytes - 1), Number.MAX_SAFE_INTEGER);
  return (value: unknown) => (Number.isInteger(value) && Math.abs(value as number) < limit ? bytes : null);
};
const textSize = (value: unknown): number | null => (typeof value === 'string' ? Buffer.byteLength(value) : null);

const BY_TYPE: Readonly<Record<string, ElementFormat>> = {
  uuid: {
    oid: 2950,
    size: (value) => (typeof value === 'string' && HEX_32.test(value) ? 16 : null),
    write: (target, at, value: string) => target.write(value, at, 'hex'),
  },
  smallint: { oid: 21, size: isInteger(2), write: (target, at, value: number) => target.writeInt16BE(value, at) },
  integer: { oid: 23, size: isInteger(4), write: (target, at, value: number) => target.writeInt32BE(value, at) },
  bigint: { oid: 20, size: isInteger(8), write: writeInt64 },
  boolean: {
    oid: 16,
    size: (value) => (typeof value === 'boolean' ? 1 : null),
    write: (target, at, value: boolean) => target.writeUInt8(value ? 1 : 0, at),
  },
  text: { oid: 25, size: textSize, write: (target, at, value: string) => target.write(value, at) },
  timestamptz: {
    oid: 1184,
    size: (value) => (Number.isNaN(timeOf(value)) ? null : 8),
    write: (target, at, value: number | string) => writeInt64(target, at, (timeOf(value) - EPOCH_MS) * 1_000),
  },
  bytea: {
    oid: 17,
    size: (value) => (Buffer.isBuffer(value) ? value.length : null),
    write: (target, at, value: Buffer) => value.copy(target, at),
  },
  jsonb: {
    oid: 3802,
    size: (value) => (typeof value === 'string' ? Buffer.byteLength(value) + 1 : null),
    write: (target, at, value: string) => {
      target.writeUInt8(JSONB_VERSION, at);
      target.write(value, at + 1);
    },
  },
};

const FORMATS: ReadonlyMap<string, ElementFormat> = new Map(Object.entries(BY_TYPE));

/** A time as epoch milliseconds, which need no text in between, or as ISO 8601; NaN for anything else. */
function timeOf(value: unknown): number {
  if (typeof value === 'number') return Math.abs(value) <= MAX_TIME_MS ? Math.ceil(value) : Number.NaN;
  return typeof value === 'string' ? Date.parse(value) : Number.NaN;
}

/** A whole number that a double holds exactly, as eight bytes. */
function writeInt64(target: Buffer, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  target.writeInt32BE(high, at);
  target.writeUInt32BE(value - high * 2 ** 32, at + 4);
}

/** Makes of a parameter's value what `pg` sends: of an array its binary form, of a time (epoch milliseconds) its text. */
export type Encoder = (value: unknown) => unknown;

const asItIs: Encoder = (value) => value;

/**
 * How values of a parameter are sent whose cast says `type` (`uuid[]`). An array with an element that has no binary form here is left as it
 * is, to be sent as text.
 */
export function encoderOf(type: string | null): Encoder {
  if (type === 'timestamptz') return (value) => (typeof value === 'number' ? timestamp(value) : value);
  if (type?.endsWith('[]') !== true) return asItIs;
  const format = FORMATS.get(type.slice(0, -2));
  if (format === undefined) return asItIs;
  return (value) => (Array.isArray(value) ? (encodeArray(format, value) ?? value) : value);
}

/** As text, to the millisecond above. */
function timestamp(timeMs: number): string {
  return new Date(Math.ceil(timeMs)).toISOString();
}

function encodeArray({ oid, size, write }: ElementFormat, elements: readonly unknown[]): Buffer | null {
  const sizes: number[] = [];
  let bytes = HEADER_BYTES;
  let hasNull = false;
  for (const element of elements) {
    const length = element === null || element === undefined ? NULL_LENGTH : size(element);
    if (length === null) return null;
    if (length === NULL_LENGTH) hasNull = true;
    else bytes += length;
    bytes += 4;
    sizes.push(length);
  }
  const target = Buffer.allocUnsafe(bytes);
  // An empty array has no dimension.
  target.writeInt32BE(elements.length === 0 ? 0 : 1, 0);
  target.writeInt32BE(hasNull ? 1 : 0, 4);
  target.writeInt32BE(oid, 8);
  target.writeInt32BE(elements.length, 12);
  target.writeInt32BE(1, 16);
  let at = HEADER_BYTES;
  for (let index = 0; index < elements.length; index++) {
    const length = sizes[index] ?? NULL_LENGTH;
    target.writeInt32BE(length, at);
    at += 4;
    if (length === NULL_LENGTH) continue;
    write(target, at, elements[index] as never);
    at += length;
  }
  return elements.length === 0 ? target.subarray(0, 12) : target;
}
