// What becomes of entries that cannot be worked on (issue 11, A1): who is to blame decides, and it is logged once.
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { FailingEntries } from '../../../src/actor/failing-entries.js';
import { CarillonError } from '../../../src/domain/errors.js';

const NOW_MS = 1_000_000;
const MOST_TRIES = 3;
const MESSAGE = '0195d0c0aaaa7bbb8ccc000000000001';
const SCHEDULE = 's:7:nightly';

let given: { id: string; reason: string }[];
let noted: { id: string; error: string }[];
let logged: { level: number; message?: string; schedule?: string; tenantId?: number }[];
let faulty: FailingEntries;
beforeEach(() => {
  given = [];
  noted = [];
  logged = [];
  const log = pino({}, { write: (line) => logged.push(JSON.parse(line) as (typeof logged)[number]) });
  faulty = new FailingEntries({
    recorder: {
      deadLetter: (id, reason) => {
        given.push({ id, reason });
        return Promise.resolve({ tenantId: 7, released: [] });
      },
      noteScheduleError: ({ id }, error) => {
        const isNew = noted.every((one) => one.error !== error);
        noted.push({ id, error });
        return Promise.resolve(isNew);
      },
    },
    enqueuer: { enqueue: () => undefined },
    clock: { nowMs: () => NOW_MS },
    log,
    mostTries: MOST_TRIES,
  });
});

function sqlError(code: string): Error {
  return Object.assign(new Error(`SQLSTATE ${code}`), { code, severity: 'ERROR' });
}

const unavailable = new CarillonError('POSTGRES_UNAVAILABLE', 'PostgreSQL is unavailable');
const permanent = new CarillonError('NOT_FOUND', 'there are no signing keys of tenant 7');

describe('a message', () => {
  it.each([
    ['PostgreSQL is unavailable', unavailable],
    ['Redis is unavailable', new CarillonError('REDIS_UNAVAILABLE', 'Redis')],
    ['this node is stopping', new CarillonError('SHUTTING_DOWN', 'stopping')],
    ['the schema lacks a column', sqlError('42703')],
    ['a lock could not be had', sqlError('55P03')],
  ])('comes back as often as it takes while %s', async (_what, error) => {
    for (let tries = 0; tries < 10 * MOST_TRIES; tries++)
      expect(await faulty.judge(MESSAGE, error)).toBeGreaterThan(NOW_MS);
    expect(given).toEqual([]);
  });

  it('whose fault is known is given up at once, with the reason and the ids in one log line', async () => {
    expect(await faulty.judge(MESSAGE, permanent)).toBeNull();
    expect(given).toEqual([{ id: MESSAGE, reason: `it cannot be sent: ${permanent.message}` }]);
    expect(logged).toMatchObject([{ level: 50, message: MESSAGE, tenantId: 7 }]);
  });

  it.each([
    ['a fault of our own', new TypeError('of undefined')],
    ['values that PostgreSQL does not take', sqlError('22021')],
    ['a damaged row', sqlError('XX001')],
  ])('that meets %s is tried a few times, more and more slowly, and then given up', async (_what, error) => {
    const waits: (number | null)[] = [];
    for (let tries = 0; tries < MOST_TRIES; tries++) waits.push(await faulty.judge(MESSAGE, error));
    expect(waits).toEqual([NOW_MS + 250, NOW_MS + 500, null]);
    expect(given).toHaveLength(1);
    expect(logged).toHaveLength(2);
  });

  it('that was worked on meanwhile begins to count anew', async () => {
    for (let tries = 1; tries < MOST_TRIES; tries++) await faulty.judge(MESSAGE, new TypeError('of undefined'));
    faulty.forget(MESSAGE);
    expect(await faulty.judge(MESSAGE, new TypeError('of undefined'))).toBe(NOW_MS + 250);
  });
});

describe('a schedule', () => {
  it('says what is wrong with it, is logged once, and is tried again more and more rarely, but never given up', async () => {
    const error = new CarillonError('INVALID_CRON', 'cron "x"');
    const waits: number[] = [];
    for (let tries = 0; tries < 20; tries++) waits.push(((await faulty.judge(SCHEDULE, error)) ?? NaN) - NOW_MS);
    expect(waits.slice(0, 4)).toEqual([250, 500, 1_000, 2_000]);
    expect(waits.at(-1)).toBe(600_000);
    expect(noted[0]).toEqual({ id: 'nightly', error: 'it cannot be fired: cron "x"' });
    expect(logged).toMatchObject([{ level: 50, schedule: 'nightly', tenantId: 7 }]);
    expect(given).toEqual([]);
  });
});
