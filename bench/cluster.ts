/**
 * Whether several nodes deliver at least as much as one: the same messages, due at one moment, published through HAProxy, to one node and
 * to three that share its capacity, on the same machine and stores. Nodes take turns as contenders do in the benchmark of deliveries; with few
 * cores there is nothing to be gained, and the figure tells what sharing costs.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startHaproxy } from '../cluster/haproxy.js';
import { freePort } from '../cluster/ports.js';
import { type CarillonNode, publishAll, startCarillon } from './carillon-node.js';
import { expectMessages, now, onCourse, sleep, sleepUntil, type Course } from './course.js';
import { median, printTable, writeRecord } from './figures.js';

const LEAD_MS = 10_000;
const POLL_MS = 4;
const WARM_UP = 2_000;
/** After the first heartbeats of nodes that started together. */
const SHARING_MS = 9_000;

const options = parseArgs({
  options: {
    messages: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    nodes: { type: 'string', default: '1,3' },
    concurrency: { type: 'string', default: '200' },
    json: { type: 'boolean', default: false },
    'no-record': { type: 'boolean', default: false },
  },
}).values;

interface Heat {
  readonly nodes: number;
  readonly perSecond: number;
}

async function main(course: Course): Promise<void> {
  const sizes = options.nodes.split(',').map(Number);
  const heats: Heat[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const nodes of round % 2 === 0 ? sizes : [...sizes].reverse()) {
      await course.stores.flushRedis();
      const heat = await run(course, nodes);
      console.error(`${heat.nodes} nodes: ${heat.perSecond} deliveries a second`);
      heats.push(heat);
    }
  }
  const medians = sizes.map((nodes) => ({
    nodes,
    perSecond: median(heats.filter((heat) => heat.nodes === nodes).map(({ perSecond }) => perSecond)),
  }));
  const figures = { messages: Number(options.messages), concurrency: Number(options.concurrency), medians, heats };
  if (!options['no-record']) writeRecord('cluster', course.stores.versions, figures);
  if (options.json) console.log(JSON.stringify(figures));
  else
    printTable(
      ['nodes', 'deliveries/s'],
      medians.map(({ nodes, perSecond }) => [nodes, perSecond]),
    );
}

async function run(course: Course, count: number): Promise<Heat> {
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`);
  const share = Math.ceil(Number(options.concurrency) / count);
  const nodes: CarillonNode[] = [];
  try {
    nodes.push(...(await Promise.all(names.map((name) => startCarillon(course.stores, share, [], name)))));
    const haproxy = await startHaproxy({
      dir: path.join(course.stores.folder, 'haproxy'),
      port: await freePort(),
      nodes: nodes.map(({ port }, index) => ({ name: names[index] ?? '', port })),
    });
    try {
      await sleep(SHARING_MS);
      await deliver(course, haproxy.url, WARM_UP);
      const durationMs = await deliver(course, haproxy.url, Number(options.messages));
      return { nodes: count, perSecond: Math.round((Number(options.messages) / durationMs) * 1_000) };
    } finally {
      await haproxy.stop();
    }
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
  }
}

/** Publishes ahead and waits until all are recorded. Gives the time from when they were due. */
async function deliver(course: Course, api: string, messages: number): Promise<number> {
  const arrived = await expectMessages(course, messages);
  const dueAtMs = Date.now() + LEAD_MS;
  const due = Array.from({ length: messages }, (_, index) => ({ index, dueAtMs }));
  await publishAll(api, course.url, due, { tellDue: false });
  await sleepUntil(dueAtMs);
  await arrived();
  const { table } = course.stores;
  const pending = { name: 'any-pending', text: `select 1 from messages where state = 'pending' limit 1` };
  while ((await table.query(pending)).rowCount !== 0) await sleep(POLL_MS);
  return now() - dueAtMs;
}

await onCourse({}, main);
