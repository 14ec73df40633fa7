// Carillon-Keep: parts of a schedule that an edit does not change. The editor may not be able to see them: a redacted
// body, the settings of a callback.

import { CarillonError } from '../domain/errors.js';
import { mergeRedactFields, parseRedaction } from '../domain/redaction.js';
import type { ScheduleDefinition } from '../domain/schedule.js';
import { parseUrl } from '../domain/url.js';
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

/** Returns the parts that a request names; none without the header. Throws INVALID_REQUEST. */
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

/**
 * Returns the definition with these parts of the existing one. Redacted parts stay redacted. Throws INVALID_REQUEST
 * when they would be sent to another server.
 */
export function keepParts(
  definition: ScheduleDefinition,
  parts: readonly KeptPart[],
  existing: ScheduleDefinition,
): ScheduleDefinition {
  refuseNewReceiver(definition, parts, existing);
  const fields = Object.fromEntries(parts.map((part) => [FIELDS[part], existing[FIELDS[part]]]));
  // Keeping `redact` keeps the list of redacted fields.
  const redact = parts.includes('redact') ? existing.redact : mergeRedactFields(existing.redact, definition.redact);
  return parts.length === 0 ? definition : { ...definition, ...fields, redact };
}

/** Throws INVALID_REQUEST: data that is hidden from the editor is not sent to a new receiver. */
function refuseNewReceiver(
  definition: ScheduleDefinition,
  parts: readonly KeptPart[],
  { destination, redact }: ScheduleDefinition,
): void {
  if (redact === null || originOf(definition.destination) === originOf(destination)) return;
  const hidden = parseRedaction(redact);
  const hides = { body: hidden.body, headers: hidden.allHeaders || hidden.headers.length > 0 };
  const part = (['body', 'headers'] as const).find((name) => parts.includes(name) && hides[name]);
  if (part === undefined) return;
  throw new CarillonError(
    'INVALID_REQUEST',
    `Carillon-Keep has ${part}, which is redacted, and the destination is another server than before: give ${part} again`,
  );
}

function originOf(destination: string): string {
  return parseUrl(destination)?.origin ?? destination;
}
