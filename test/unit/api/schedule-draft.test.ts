// What the console's schedule form makes of a schedule, and sends: an edit loses nothing, seen or not.

import { describe, expect, it } from 'vitest';
import type { Schedule } from '../../../web/api/answer-types.js';
import { badHeaderLine, draftOf, EMPTY, settingsOf } from '../../../web/views/schedules/draft.js';

const schedule: Schedule = {
  scheduleId: 'invoices',
  cron: '0 6 1 * *',
  timeZone: 'Europe/London',
  destination: 'https://example.com/invoices',
  createdAt: 0,
  method: 'PUT',
  header: { 'Content-Type': ['application/json'], 'X-A': ['1', '2'] },
  body: '{}',
  retries: 4,
  delay: 90,
  timeout: 1_500,
  labels: ['night', 'billing'],
  callback: 'https://example.com/cb',
  state: 'active',
  isPaused: false,
  generation: 3,
  misfire: 'all',
  misfireWindow: 21_600_000,
  overlap: 'queue',
  window: 600_000,
  start: Date.UTC(2030, 0, 1),
  idempotencyKey: 'invoice:{yyyy-MM}',
};

describe('a draft', () => {
  it('that was not touched says the same, and keeps what the page does not see whole', () => {
    const draft = draftOf(schedule);
    expect(settingsOf(draft, draft)).toEqual({
      'Upstash-Schedule-Id': 'invoices',
      'Upstash-Cron': '0 6 1 * *',
      'Upstash-Method': 'PUT',
      'Upstash-Retries': '4',
      'Upstash-Timeout': '1.5s',
      'Upstash-Delay': '90s',
      'Upstash-Label': 'night, billing',
      'Carillon-Time-Zone': 'Europe/London',
      'Carillon-Misfire': 'all; window=6h',
      'Carillon-Overlap': 'queue',
      'Carillon-Window': '10m',
      'Carillon-Start': '2030-01-01T00:00:00.000Z',
      'Carillon-Idempotency-Key': 'invoice:{yyyy-MM}',
      'Carillon-Keep': 'body, headers, callback, failure-callback, redact',
    });
  });

  it('sends what was changed in place of what is stored', () => {
    const before = draftOf(schedule);
    const settings = settingsOf({ ...before, headers: 'X-B: 3', callback: '' }, before);
    expect(settings).toMatchObject({
      'Upstash-Forward-X-B': '3',
      'Carillon-Keep': 'body, failure-callback, redact',
    });
    expect(settings).not.toHaveProperty('Upstash-Callback');
    expect(settings).not.toHaveProperty('Upstash-Forward-X-A');
  });

  it('of a new schedule keeps nothing and leaves empty settings out', () => {
    expect(settingsOf({ ...EMPTY, cron: '@hourly' }, null)).toEqual({
      'Upstash-Cron': '@hourly',
      'Upstash-Method': 'POST',
      'Carillon-Misfire': 'once',
      'Carillon-Overlap': 'allow',
    });
  });

  it('has lines that are no headers found', () => {
    expect(badHeaderLine('A: 1\n\nno colon')).toBe('no colon');
    expect(badHeaderLine('A: 1\n B : 2')).toBe('');
  });
});
