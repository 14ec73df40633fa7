/** Which tests run where the data Redis is a cluster of three masters and PgBouncer stands before PostgreSQL, and how they are run. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { root, run } from './prepare.mjs';

/**
 * Integration tests that say nothing about it. All others run, so that a new test is in unless somebody says why not.
 * Tests of single servers of their own (killed, frozen, emptied, counted) have their part in test/topologies and in the main run.
 */
const ELSEWHERE = {
  'api/closing': 'HTTP only',
  'api/doc': 'HTTP only',
  'api/outage': 'takes a PostgreSQL of its own away',
  'api/cancel-confirmed': 'cuts one node off from one Redis',
  'api/schedule-recreated': 'cuts one node off from one Redis',
  'delivery/answers': 'HTTP only',
  'delivery/connections': 'HTTP only',
  'delivery/faults': 'HTTP only',
  'delivery/http-client': 'HTTP only',
  'cluster/haproxy': 'the load balancer alone',
  'cluster/local-stores': 'the servers that npm start brings up',
  'regressions/stores': 'kills, empties and fills one Redis and one PostgreSQL of its own',
  'redis/redis-returns': 'restarts one Redis of its own',
  'redis/redis-subscriptions': 'cuts a connection to one Redis of its own',
  'node/metrics': 'figures; takes a PostgreSQL of its own away',
  'postgres/recorder-lock-order': 'waits for its connections to end, which a pooler keeps',
  'membership/shard-locks': 'three lock servers of its own',
  'node/start-faults': 'what a node says of a PostgreSQL or a Redis that is not there',
  'membership/takeover-cost': 'counts the commands of one Redis of its own',
};

/** What `npm test` runs of it: the wire, the scripts, the statements, a node from one end to the other, and that it is what it says. */
const QUICK = [
  'test/conformance/',
  'test/integration/node/node.test.ts',
  'test/integration/redis/claims.test.ts',
  'test/integration/redis/offers.test.ts',
  'test/integration/redis/reschedule.test.ts',
  'test/integration/postgres/recorder-fires.test.ts',
  'test/integration/postgres/recorder-keys.test.ts',
  'test/integration/postgres/recorder-outcomes.test.ts',
  'test/integration/postgres/recorder-overlap.test.ts',
  'test/topologies/reports.test.ts',
];

/** Runs vitest on these files, or on those that belong here; `quick` on fewer, and without PgBouncer where it cannot be had. */
export async function runTopologies(args, { quick = false } = {}) {
  const integration = readdirSync(path.join(root, 'test', 'integration'), { recursive: true })
    .filter((name) => name.endsWith('.test.ts') && !(name.replace('.test.ts', '') in ELSEWHERE))
    .map((name) => `test/integration/${name}`);
  const all = ['test/conformance/', ...integration, 'test/topologies/'];
  const files = args.some((arg) => !arg.startsWith('-')) ? [] : quick ? QUICK : all;
  // Loading the same modules again for each of its short files takes longer than the tests.
  const options = quick ? ['--no-isolate'] : [];
  const topology = `redis-cluster,${quick ? 'pgbouncer-if-there' : 'pgbouncer'}`;
  const env = { ...process.env, CARILLON_TEST_TOPOLOGY: process.env.CARILLON_TEST_TOPOLOGY ?? topology };
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
  return await run(process.execPath, [vitest, 'run', ...options, ...files, ...args], { env });
}
