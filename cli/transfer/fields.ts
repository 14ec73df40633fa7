/** Reads the fields of a foreign format: each is carried over, known to say nothing about what is done, or refused by its name. */
import type { TObject, TProperties, Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { LineError } from './items.js';

/** Of a field's name or value, in a text for people. */
const SHOWN_LENGTH = 80;

/** Whether a field says anything at all. */
export function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/**
 * Returns the fields that the schema knows and that say something, checked. Throws a LineFault that names the first field which is neither known nor
 * one of the `harmless`, or whose value is of another kind than expected. `where` stands before the name, such as "template.opts.".
 */
export function readFields<Properties extends TProperties>(
  value: unknown,
  schema: TObject<Properties>,
  harmless: readonly string[],
  where = '',
): Partial<Static<TObject<Properties>>> {
  if (!isSaid(value)) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new LineError(`${JSON.stringify(where.replace(/\.$/, ''))} is ${shown(value)}, expected an object`);
  }
  const said: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (!isSaid(field) || harmless.includes(name)) continue;
    const expected = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (expected === undefined) {
      throw new LineError(
        `${quoted(where + name)} has no counterpart here; take it out if the schedule can do without it`,
      );
    }
    const [problem] = Value.Errors(expected, field);
    if (problem !== undefined) {
      const inner = problem.path.replaceAll('/', '.');
      throw new LineError(
        `${quoted(where + name + inner)} is ${shown(problem.value)}, ${problem.message.toLowerCase()}`,
      );
    }
    said[name] = field;
  }
  return said as Partial<Static<TObject<Properties>>>;
}

/** The refusal of a field whose value cannot be carried over. */
export function refusedField(name: string, value: unknown, why: string): LineError {
  return new LineError(`${quoted(name)} is ${shown(value)}: ${why}`);
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, SHOWN_LENGTH));
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value);
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}
