// What a schedule is made of, which id it gets, and how it is shown.

import { describe, expect, it } from 'vitest';
import { headerLimits, settingsOfHttp } from '../../../src/api/request-settings.js';
import { readDefinition, readScheduleId } from '../../../src/api/schedule-headers.js';
import { scheduleView } from '../../../src/api/schedule-view.js';
import { configWith } from '../../../src/config.js';
import { CarillonError } from '../../../src/domain/errors.js';
import type { Schedule, ScheduleDefinition } from '../../../src/domain/schedule.js';

const config = configWith({});
const random = (bytes: number): Uint8Array => Buffer.alloc(bytes, 1);

const settingsOf = (headers: Record<string, string>) =>
  settingsOfHttp(
    { rawHeaders: Object.entries(headers).flat(), query: [], authorizationIsOurs: true },
    headerLimits(config),
  );

function define(headers: Record<string, string>, body: string | Buffer = ''): ScheduleDefinition {
  const given = { 'Upstash-Cron': '0 2 * * *', ...headers };
  const settings = settingsOf(given);
  return readDefinition({ destination: 'https://a.test/p', settings, body: Buffer.from(body), callerIp: null }, config);
}

function idOf(headers: Record<string, string>): string {
  return readScheduleId(settingsOf(headers), define(headers), random);
}

function refusal(headers: Record<string, string>): string {
  try {
    define(headers);
    idOf(headers);
  } catch (error) {
    if (error instanceof CarillonError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

describe('a schedule', () => {
  it('has the defaults of the wire contract', () => {
    expect(define({})).toMatchObject({
      cron: '0 2 * * *',
      timeZone: null,
      delayMs: 0,
      misfire: 'once',
      misfireWindowMs: config.CARILLON_MISFIRE_WINDOW_MS,
      overlap: 'allow',
      windowMs: 0,
      startAtMs: null,
      endAtMs: null,
      keyTemplate: null,
      anchorMs: null,
      method: 'POST',
      maxRetries: 3,
    });
  });

  it('takes its policies from its headers', () => {
    expect(
      define({
        'Upstash-Cron': ' CRON_TZ=America/New_York 0 4 * * * ',
        'Upstash-Delay': '1h',
        'Carillon-Misfire': 'all; window=6h',
        'Carillon-Overlap': 'queue',
        'Carillon-Window': '15m',
        'Carillon-Start': '2030-01-01T00:00:00+01:00',
        'Carillon-End': '1956528000',
        'Carillon-Idempotency-Key': 'invoice:{yyyy-MM}:acme',
      }),
    ).toMatchObject({
      cron: 'CRON_TZ=America/New_York 0 4 * * *',
      delayMs: 3_600_000,
      misfire: 'all',
      misfireWindowMs: 21_600_000,
      overlap: 'queue',
      windowMs: 900_000,
      startAtMs: Date.UTC(2029, 11, 31, 23),
      endAtMs: 1_956_528_000_000,
      keyTemplate: 'invoice:{yyyy-MM}:acme',
    });
  });

  it.each([
    [{ 'Upstash-Cron': '' }, /^INVALID_CRON Upstash-Cron is missing/],
    [{ 'Upstash-Cron': '61 * * * *' }, /^INVALID_CRON .*minute/],
    [{ 'Upstash-Cron': '0 0 30 2 *' }, /^INVALID_CRON .*never fire/],
    [{ 'Upstash-Cron': 'CRON_TZ=Mars/Base 0 0 * * *' }, /^INVALID_CRON .*Mars/],
    [{ 'Carillon-Time-Zone': 'Nowhere' }, /^INVALID_CRON .*Nowhere/],
    [{ 'Upstash-Not-Before': '1' }, /^INVALID_REQUEST Upstash-Not-Before is not allowed/],
    [{ 'Carillon-Misfire': 'never' }, /^INVALID_REQUEST Carillon-Misfire/],
    [{ 'Carillon-Overlap': 'x' }, /^INVALID_REQUEST Carillon-Overlap/],
    [{ 'Carillon-Window': '2d' }, /^INVALID_REQUEST Carillon-Window.*1d/],
    [{ 'Carillon-Start': 'tomorrow' }, /^INVALID_REQUEST Carillon-Start.*2026-03-08/],
    [{ 'Carillon-Start': '2030-01-02T00:00:00Z', 'Carillon-End': '2030-01-01T00:00:00Z' }, /End is before/],
    [{ 'Carillon-Idempotency-Key': 'always-the-same' }, /^INVALID_REQUEST Carillon-Idempotency-Key .* \{yyyy-MM-dd\}/],
    [{ 'Carillon-Idempotency-Key': 'x{yyyy' }, /^INVALID_REQUEST Carillon-Idempotency-Key/],
    [{ 'Upstash-Schedule-Id': 'a/b' }, /^INVALID_REQUEST Upstash-Schedule-Id/],
    [{ 'Upstash-Deduplication-Id': 'a:b' }, /cannot contain/],
  ])('with %j is refused', (headers, text) => {
    expect(refusal(headers as unknown as Record<string, string>)).toMatch(text);
  });
});

describe('its id', () => {
  it('is the given one, or random', () => {
    expect(idOf({ 'Upstash-Schedule-Id': 'nightly' })).toBe('nightly');
    expect(idOf({})).toMatch(/^scd_[0-9a-f]{20}$/);
  });

  it('follows from what it is deduplicated by, so that a repeated creation names the same schedule', () => {
    const byId = idOf({ 'Upstash-Deduplication-Id': 'x' });
    expect(byId).toBe(idOf({ 'Upstash-Deduplication-Id': 'x', 'Upstash-Retries': '1' }));
    expect(byId).not.toBe(idOf({ 'Upstash-Deduplication-Id': 'y' }));
    const byContent = idOf({ 'Upstash-Content-Based-Deduplication': 'true' });
    expect(byContent).toBe(idOf({ 'Upstash-Content-Based-Deduplication': 'true' }));
    expect(byContent).not.toBe(idOf({ 'Upstash-Content-Based-Deduplication': 'true', 'Upstash-Cron': '1 2 * * *' }));
    expect(idOf({ 'Upstash-Schedule-Id': 's', 'Upstash-Deduplication-Id': 'x' })).toBe('s');
  });
});

describe('a schedule that is shown', () => {
  const saved = (definition: ScheduleDefinition): Schedule => ({
    ...definition,
    tenantId: 1,
    id: 's',
    shard: 0,
    generation: 2,
    state: 'active',
    anchorMs: 5,
    createdAtMs: 5,
    updatedAtMs: 6,
    nextFireAtMs: 100,
    lastFireAtMs: null,
  });

  it('leaves out what was not set', () => {
    expect(scheduleView(saved(define({})))).toEqual({
      scheduleId: 's',
      cron: '0 2 * * *',
      destination: 'https://a.test/p',
      createdAt: 5,
      method: 'POST',
      header: {},
      retries: 3,
      timeout: 30_000,
      isPaused: false,
      nextScheduleTime: 100,
      state: 'active',
      generation: 2,
      misfire: 'once',
      overlap: 'allow',
    });
  });

  it('has a body as text when it is text, otherwise in base64', () => {
    expect(scheduleView(saved(define({}, 'h\0é')))).toMatchObject({ body: 'h\0é' });
    const view = scheduleView(saved(define({}, Buffer.from([0xff, 0]))));
    expect(view).toMatchObject({ bodyBase64: '/wA=' });
    expect(view).not.toHaveProperty('body');
  });

  it('hides what is to be redacted', () => {
    const view = scheduleView(
      saved(
        define(
          { 'Upstash-Redact-Fields': 'body,header[X-A]', 'Upstash-Forward-X-A': 'a', 'Upstash-Forward-X-B': 'b' },
          'x',
        ),
      ),
    );
    expect(view.body).toMatch(/^REDACTED:[0-9a-f]{64}$/);
    expect(view.header['X-A']?.[0]).toMatch(/^REDACTED:/);
    expect(view.header['X-B']).toEqual(['b']);
  });

  it('says how its latest runs stand', () => {
    const view = scheduleView(saved(define({})), [
      { id: 'a'.repeat(32), state: 'pending' },
      { id: 'b'.repeat(32), state: 'delivered' },
      { id: 'c'.repeat(32), state: 'failed' },
    ]);
    expect(Object.values(view.lastScheduleStates ?? {})).toEqual(['IN_PROGRESS', 'SUCCESS', 'FAIL']);
  });
});
