// Issue 11, A9: what reads a user's text reads a long one at once, whatever it is made of. A pattern that tried things twice would take minutes here.

import { describe, expect, it } from 'vitest';
import { parseInstant } from '../../../src/api/instant.js';
import { readTarget } from '../../../src/api/raw-target.js';
import { checkDestinationUrl, literalAddress, refusalOfAddress } from '../../../src/delivery/destination-guard.js';
import { describeFailure } from '../../../src/delivery/delivery-result.js';
import { parseCron } from '../../../src/domain/cron/parse.js';
import { parseDuration } from '../../../src/domain/duration.js';
import { CarillonError } from '../../../src/domain/errors.js';
import { checkScheduleId } from '../../../src/domain/ids.js';
import { parseKeyTemplate } from '../../../src/domain/key-template.js';
import { parseMisfire } from '../../../src/domain/misfire.js';
import { printable } from '../../../src/domain/printable.js';
import { compileRetryDelay } from '../../../src/domain/retry-delay-expression.js';

const LENGTH = 400_000;
const UNITS = [
  '1',
  'a',
  ' ',
  '/',
  '.',
  ':',
  '(',
  '{',
  '{}',
  '*/',
  '1,',
  '1-',
  '@every ',
  'CRON_TZ=',
  '1h',
  '%41',
  '=',
  ';',
  '-',
  '\t',
  '0x',
  '?a&',
];

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  cron: (text) => parseCron(text),
  'cron with a zone': (text) => parseCron(`CRON_TZ=${text} * * * * *`),
  '@every': (text) => parseCron(`@every ${text}`),
  duration: (text) => parseDuration(text, 'it', { bareSeconds: true, goUnits: true }),
  'key template': (text) => parseKeyTemplate(text),
  misfire: (text) => parseMisfire(`all; window=${text}`),
  'schedule id': (text) => checkScheduleId(text),
  instant: (text) => parseInstant(text, 'it', 'seconds'),
  'retry delay': (text) => compileRetryDelay(text),
  destination: (text) => checkDestinationUrl(`http://${text}`, 'destination', { allowPrivate: false }),
  address: (text) => [literalAddress(text), refusalOfAddress(text)],
  target: (text) => readTarget('POST', `/v2/publish/${text}`),
  'text of a failure': (text) => describeFailure(new Error(`connect ${text}`), 1, 'a.test'),
  'text for a terminal': (text) => printable(text),
};

describe.each(Object.entries(READERS))('a long text for %s', (_, read) => {
  it('is taken or refused, and no more', () => {
    for (const unit of UNITS) {
      for (const text of [unit.repeat(LENGTH / unit.length), `${unit.repeat(LENGTH / unit.length)}!x`]) {
        try {
          read(text);
        } catch (error) {
          expect(error, `${unit}…`).toBeInstanceOf(CarillonError);
          expect((error as Error).message.length).toBeLessThan(2_000);
        }
      }
    }
  });
});
