/**
 * Whether several nodes deliver at least as much as one: the same messages, due at one moment, published through HAProxy, to one node and
 * to three that share its capacity, on the same machine and stores. Nodes take turns as contenders do in the benchmark of deliveries; with few
 * cores there is nothing to be gained, and the figure tells what sharing costs.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startHaproxy } from '../cluster/haproxy/haproxy.js';
import { freePort } from '../cluster/system/ports.js';
import { type CarillonNode, publishAll, startCarillon } from './carillon-node.js';
import { expectMessages, now, onHarness, sleep, sleepUntil, type Harness } from './harness.js';
import { median, printTable, rounded, writeRecord } from './figures.js';
import { cpuSeconds } from './machine.js';
import { type Cpu, perThousand } from './meter.js';
import { COUNTING_STATEMENTS, printCounters, profilingArguments, resetCounters } from './profile.js';

const LEAD_MS = 10_000;
const POLL_MS = 4;
/** For each node, so that each has met its work before it is measured. */
const WARM_UP = 8_000;
/** After the first heartbeats of nodes that started together. */
const SHARING_MS = 9_000;

const options = parseArgs({
  options: {
    messages: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    nodes: { type: 'string', default: '1,3' },
    concurrency: { type: 'string', default: '200' },
    json: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    'no-record': { type: 'boolean', default: false },
  },
}).values;

interface Trial {
  readonly nodes: number;
  readonly perSecond: number;
  /** CPU seconds for 1,000 deliveries, of all nodes together; without the load balancer and the receiver. */
  readonly cpu: Cpu;
}

async function main(harness: Harness): Promise<void> {
  const sizes = options.nodes.split(',').map(Number);
  const trials: Trial[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const nodes of round % 2 === 0 ? sizes : [...sizes].reverse()) {
      await harness.stores.flushRedis();
      const trial = await run(harness, nodes);
      const { node, redis, postgres } = trial.cpu;
      console.error(
        `${trial.nodes} nodes: ${trial.perSecond} deliveries a second; CPU s/1,000: ${node} ${redis} ${postgres}`,
      );
      trials.push(trial);
    }
  }
  const medians = sizes.map((nodes) => {
    const ofSize = trials.filter((trial) => trial.nodes === nodes);
    const middle = (figure: (trial: Trial) => number): number => rounded(median(ofSize.map(figure)), 4);
    const cpu = {
      node: middle((trial) => trial.cpu.node),
      redis: middle((trial) => trial.cpu.redis),
      postgres: middle((trial) => trial.cpu.postgres),
    };
    return { nodes, perSecond: middle((trial) => trial.perSecond), cpu };
  });
  const figures = { messages: Number(options.messages), concurrency: Number(options.concurrency), medians, trials };
  if (!options['no-record']) writeRecord('cluster', harness.stores.versions, figures);
  if (options.json) console.log(JSON.stringify(figures));
  else
    printTable(
      ['nodes', 'deliveries/s', 'CPU s/1,000: nodes', 'Redis', 'PostgreSQL'],
      medians.map(({ nodes, perSecond, cpu }) => [nodes, perSecond, cpu.node, cpu.redis, cpu.postgres]),
    );
}

async function run(harness: Harness, count: number): Promise<Trial> {
  const names = Array.from({ length: count }, (_, index) => `node-${index + 1}`);
  const share = Math.ceil(Number(options.concurrency) / count);
  const nodes: CarillonNode[] = [];
  const nodeArguments = options.profile ? profilingArguments() : [];
  try {
    nodes.push(...(await Promise.all(names.map((name) => startCarillon(harness.stores, share, nodeArguments, name)))));
    const haproxy = await startHaproxy({
      dir: path.join(harness.stores.folder, 'haproxy'),
      port: await freePort(),
      nodes: nodes.map(({ port }, index) => ({ name: names[index] ?? '', port })),
    });
    try {
      await sleep(SHARING_MS);
      await deliver(harness, haproxy.url, WARM_UP * count);
      return { nodes: count, ...(await measure(harness, haproxy.url, nodes)) };
    } finally {
      await haproxy.stop();
    }
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
  }
}

async function measure(harness: Harness, api: string, nodes: readonly CarillonNode[]): Promise<Omit<Trial, 'nodes'>> {
  const messages = Number(options.messages);
  if (options.profile) await resetCounters(harness.stores);
  const cpu = (): Cpu => ({
    node: nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
    redis: cpuSeconds(harness.stores.redis.pid),
    postgres: cpuSeconds(harness.stores.postgres.pid),
  });
  let from = cpu();
  const durationMs = await deliver(harness, api, messages, () => (from = cpu()));
  const to = cpu();
  if (options.profile) await printCounters(harness.stores);
  const used = { node: to.node - from.node, redis: to.redis - from.redis, postgres: to.postgres - from.postgres };
  return { perSecond: Math.round((messages / durationMs) * 1_000), cpu: perThousand(used, messages) };
}

/** Publishes ahead and waits until all are recorded. Gives the time from when they were due; `onDue` is told when that is. */
async function deliver(
  harness: Harness,
  api: string,
  messages: number,
  onDue = (): void => undefined,
): Promise<number> {
  const arrived = await expectMessages(harness, messages);
  const dueAtMs = Date.now() + LEAD_MS;
  const due = Array.from({ length: messages }, (_, index) => ({ index, dueAtMs }));
  await publishAll(api, harness.url, due, { tellDue: false });
  await sleepUntil(dueAtMs);
  onDue();
  await arrived();
  const { table } = harness.stores;
  const pending = { name: 'any-pending', text: `select 1 from messages where state = 'pending' limit 1` };
  while ((await table.query(pending)).rowCount !== 0) await sleep(POLL_MS);
  return now() - dueAtMs;
}

await onHarness({ postgresSettings: options.profile ? COUNTING_STATEMENTS : {} }, main);
