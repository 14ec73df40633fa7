// Carillon-Keep: parts of a schedule that an edit leaves as they are stored. Whoever edits may not see them: a redacted body, the settings of
// a callback.

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

/**
 * The definition with these parts as the existing one has them. What is redacted of them stays redacted. Throws INVALID_REQUEST when that
 * would go to another server.
 */
export function keepParts(
  definition: ScheduleDefinition,
  parts: readonly KeptPart[],
  existing: ScheduleDefinition,
): ScheduleDefinition {
  refuseToTurnAway(definition, parts, existing);
  const kept = Object.fromEntries(parts.map((part) => [FIELDS[part], existing[FIELDS[part]]]));
  // One that keeps `redact` says with it which fields there are to be.
  const redact = parts.includes('redact') ? existing.redact : mergeRedactFields(existing.redact, definition.redact);
  return parts.length === 0 ? definition : { ...definition, ...kept, redact };
}

/** Throws INVALID_REQUEST: what is hidden from whoever edits is not sent to a receiver that never had it. */
function refuseToTurnAway(
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
    `Carillon-Keep has ${part}, which is redacted, and the destination is another server than before: give ${part} anew`,
  );
}

function originOf(destination: string): string {
  return parseUrl(destination)?.origin ?? destination;
}
