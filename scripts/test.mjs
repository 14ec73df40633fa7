/**
 * `npm test`: types, lint, format and every test, on whatever it takes; the unit tests once more in another time zone;
 * and before them the most telling once more on a Redis Cluster and through PgBouncer. With arguments, only vitest with
 * those.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { ensureBuilt, ensureInstalled, PrepareError, root, run } from './prepare.mjs';
import { runTopologies } from './topologies.mjs';

const bin = (...parts) => path.join(root, 'node_modules', ...parts);

// No test may depend on the machine's zone: the unit tests run once more in this one, which is 12:45 or 13:45 ahead of
// UTC and has its summer when most have not. They need no stores. Left out is what takes long and only compares
// calendars with each other.
const OTHER_ZONE = { ...process.env, TZ: 'Pacific/Chatham', CARILLON_TEST_STORES: 'none' };

// What each check is called, and how it is run: with Node itself, so that no shell and no PATH come into it.
const CHECKS = [
  ['types', [bin('typescript', 'bin', 'tsc'), '--noEmit']],
  ['types of the page', [bin('typescript', 'bin', 'tsc'), '--noEmit', '-p', 'web']],
  ['lint', [bin('oxlint', 'bin', 'oxlint'), '--deny-warnings', '.']],
  ['unused files, exports and packages', [bin('knip', 'bin', 'knip.js')]],
  ['format', [bin('prettier', 'bin', 'prettier.cjs'), '--check', '--log-level', 'warn', '.']],
  [
    `unit tests in ${OTHER_ZONE.TZ}`,
    [bin('vitest', 'vitest.mjs'), 'run', 'test/unit', '--exclude', '**/brute-force.test.ts'],
    OTHER_ZONE,
  ],
];

/** These need neither PostgreSQL nor Redis, nor what is built. */
const WITHOUT_STORES = /^test\/(?:unit(?:\/|$)|architecture)/;

async function main(args) {
  const say = (line) => console.log(line);
  await ensureInstalled(say);
  const files = args.filter((arg) => !arg.startsWith('-'));
  if (files.length > 0 && files.every((file) => WITHOUT_STORES.test(file))) {
    return await run(process.execPath, vitest(args), { env: { ...process.env, CARILLON_TEST_STORES: 'none' } });
  }
  const failed = [];
  try {
    await ensureBuilt(say);
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    // What can be tested without the build still is.
    console.error(error.message);
    failed.push('build');
  }
  if (args.length === 0) {
    failed.push(...(await runChecks()));
    console.log('The most telling on a Redis Cluster and through PgBouncer (all of them: npm run test:topologies)');
    if ((await runTopologies([], { quick: true })) !== 0) failed.push('topologies');
  }
  // Last, so that what a test found wrong is what stands at the end.
  const code = await run(process.execPath, vitest(args));
  if (code !== 0) failed.push('tests');
  if (failed.length > 0) console.log(`\nnpm test failed: ${failed.join(', ')}`);
  return failed.length === 0 ? 0 : 1;
}

/** `--watch`: runs again what a saved file concerns, until Ctrl-C. */
function vitest(args) {
  const isWatching = args.includes('--watch');
  return [bin('vitest', 'vitest.mjs'), isWatching ? 'watch' : 'run', ...args.filter((arg) => arg !== '--watch')];
}

/** Runs all of them at the same time, whatever the others find; returns the names of those that failed. */
async function runChecks() {
  const results = CHECKS.map(async ([name, args, env]) => {
    const startedAtMs = performance.now();
    const { code, output } = await capture(args, env);
    const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
    console.log(`${name}: ${code === 0 ? 'ok' : 'FAILED'} (${seconds} s)`);
    if (code !== 0) console.log(output);
    return code === 0 ? undefined : name;
  });
  return (await Promise.all(results)).filter((name) => name !== undefined);
}

async function capture(args, env = process.env) {
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text) => {
      output += text;
    });
  }
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

let code = 1;
try {
  code = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof PrepareError ? error.message : error);
}
process.exit(code);
