/** Brings very many schedules with the same time into a table, and a node that is up and warm before that time comes. */
import { startCarillon, type CarillonNode } from './carillon-node.js';
import { cloneHerd } from './clone-rows.js';
import { warmUp, type Harness } from './harness.js';
import type { FilledDatabase } from './filled.js';
import { dueTogether } from './trials.js';
import { untilSwept } from './queue-use.js';

const SECOND_MS = 1_000;
const CALM_MS = 3_500;

export interface WaitingHerd {
  readonly node: CarillonNode;
  /** The time in their calendars: some seconds ahead. */
  readonly atMs: number;
}

/** The schedules call the course's receiver; the caller stops the node and tidies the table. */
export async function startHerd(
  harness: Harness,
  filled: FilledDatabase,
  how: {
    readonly size: number;
    readonly windowMs: number;
    readonly concurrency: number;
    /** For the node's start and its warming up; twice as long when a slow machine needed longer. */
    readonly leadMs: number;
  },
): Promise<WaitingHerd> {
  // Putting them in takes its time as well.
  for (let leadMs = how.leadMs + how.size / 5; ; leadMs *= 2) {
    await filled.tidy();
    const atMs = Math.ceil((Date.now() + leadMs) / SECOND_MS) * SECOND_MS;
    const fires = { atMs, windowMs: how.windowMs, destination: harness.url };
    await filled.inChunks(how.size, (chunk) => cloneHerd(chunk, fires));
    const node = await startCarillon(filled.stores, how.concurrency, [], 'node-1', filled.prefix);
    await untilSwept(filled.stores, filled.prefix.CARILLON_REDIS_PREFIX ?? '');
    await warmUp(harness, (count) => node.publish(harness.url, dueTogether(count, Date.now() + 500)));
    if (Date.now() < atMs - CALM_MS) return { node, atMs };
    console.error('the node was not warm before the schedules fired; once more with a longer lead');
    await node.stop();
  }
}
