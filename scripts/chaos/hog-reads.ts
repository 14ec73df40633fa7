/** Readers that hog: they ask one node for its largest lists, each again as soon as it is answered. */
import { ADMIN_TOKEN, TOKEN } from './node-settings.js';

const READERS = 24;
const ANSWER_MS = 40_000;
/** Too many reads, and a store that is unavailable: what such readers are to be told. */
const COME_AGAIN = new Set([429, 503]);
const LISTS: readonly { readonly path: string; readonly token: string }[] = [
  { path: '/v2/events?count=1000', token: TOKEN },
  { path: '/v2/logs?count=1000&order=earliestFirst', token: TOKEN },
  { path: '/v2/events?state=ERROR&count=1000', token: TOKEN },
  { path: '/v2/dlq?count=100', token: TOKEN },
  { path: '/v2/schedules', token: TOKEN },
  { path: '/admin/shards', token: ADMIN_TOKEN },
];

/** Reads for so long; returns what was done, for people. */
export async function hogReads(nodeUrl: string, forMs: number): Promise<string> {
  const untilMs = performance.now() + forMs;
  let answered = 0;
  let later = 0;
  let failed = 0;
  const read = async (reader: number): Promise<void> => {
    for (let turn = reader; performance.now() < untilMs; turn++) {
      const list = LISTS[turn % LISTS.length];
      if (list === undefined) return;
      try {
        const response = await fetch(`${nodeUrl}${list.path}`, {
          headers: { authorization: `Bearer ${list.token}` },
          signal: AbortSignal.timeout(ANSWER_MS),
        });
        await response.arrayBuffer();
        if (response.ok) answered += 1;
        else if (COME_AGAIN.has(response.status)) later += 1;
        else failed += 1;
      } catch {
        failed += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: READERS }, (_, reader) => read(reader)));
  return `${READERS} readers, ${answered} lists answered, ${later} asked to come again, ${failed} failed`;
}
