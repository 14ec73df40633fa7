// Carillon-Keep: parts of a schedule that an edit leaves as they are stored. Whoever edits may not see them: a redacted body, the settings of
// a callback.

import { CarillonError } from '../domain/errors.js';
import { mergeRedactFields } from '../domain/redaction.js';
import type { ScheduleDefinition } from '../domain/schedule.js';
import { valueOf } from './delivery-headers.js';
import type { RequestSettings } from './request-settings.js';

const FIELDS = {
  body: 'body',
  headers: 'headers',
  callback: 'callback',
  'failure-callback': 'failureCallback',
  redact: 'redact',
} as const satisfies Readonly<Record<string, keyof ScheduleDefinition>>;

export type KeptPart = keyof typeof FIELDS;

/** The parts that a request names; none when it has no such header. Throws INVALID_REQUEST. */
export function readKeep(settings: RequestSettings): readonly KeptPart[] {
  const text = valueOf(settings, 'Carillon-Keep');
  if (text === null) return [];
  return text.split(',').map((part) => {
    const name = part.trim().toLowerCase();
    if (Object.hasOwn(FIELDS, name)) return name as KeptPart;
    throw new CarillonError(
      'INVALID_REQUEST',
      `Carillon-Keep has ${JSON.stringify(name.slice(0, 40))}, expected some of ${Object.keys(FIELDS).join(', ')}`,
    );
  });
}

/** The definition with these parts as the existing one has them. What is redacted of them stays redacted. */
export function keepParts(
  definition: ScheduleDefinition,
  parts: readonly KeptPart[],
  existing: ScheduleDefinition,
): ScheduleDefinition {
  const kept = Object.fromEntries(parts.map((part) => [FIELDS[part], existing[FIELDS[part]]]));
  // One that keeps `redact` says with it which fields there are to be.
  const redact = parts.includes('redact') ? existing.redact : mergeRedactFields(existing.redact, definition.redact);
  return parts.length === 0 ? definition : { ...definition, ...kept, redact };
}
