// Issue 11, A3: calendars whose times are rare, asked for by many at once, hold up nobody else.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { withLongestTurn } from '../../kit/longest-turn.js';
import { startTestNode, type TestNode } from '../../kit/node.js';

const LONGEST_TURN_MS = 100;
/** Each in a zone that nobody has asked for yet. */
const ZONES = Intl.supportedValuesOf('timeZone')
  .filter((name) => name.startsWith('America/'))
  .slice(0, 40);

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.stop());

const preview = (cron: string, timeZone: string): Promise<Response> =>
  node.call('POST', '/v2/cron/preview', { body: JSON.stringify({ cron, timeZone, count: 100 }) });

it.each(['59 59 23 29 2 1#5', '0 0 29 2 *', '59 59 23 31 12 *'])('%s in 40 zones at once', async (cron) => {
  const { result, longestMs } = await withLongestTurn(() => Promise.all(ZONES.map((zone) => preview(cron, zone))));
  expect(new Set(result.map(({ status }) => status))).toEqual(new Set([200]));
  expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
});

it('a batch of schedules with such times', async () => {
  const items = Array.from({ length: 1_000 }, (_, index) => ({
    destination: `${node.sink.url}/rare`,
    headers: {
      'Upstash-Cron': '59 59 23 29 2 1#5',
      'Carillon-Time-Zone': ZONES[index % ZONES.length],
      'Upstash-Schedule-Id': `rare-${index}`,
    },
  }));
  const { result, longestMs } = await withLongestTurn(() =>
    node.call('POST', '/v2/schedules/batch', { body: JSON.stringify(items) }),
  );
  expect(result.status).toBe(200);
  expect(longestMs).toBeLessThan(2 * LONGEST_TURN_MS);
});
