/** Makes a clone runnable: checks Node's version, installs what the lock file says, builds what has changed. */
import { spawn } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build, isBuilt, PrepareError } from './build.mjs';

export { PrepareError };

export const root = fileURLToPath(new URL('..', import.meta.url));

const OLDEST_NODE = [20, 19];
const LOCK_POLL_MS = 200;
const LOCK_STALE_MS = 20 * 60_000;

/**
 * Installs and builds if needed; `say` gets a line before anything that takes time. Nothing here may need an installed
 * package, because it runs before there are any.
 */
export async function prepare(say) {
  await ensureInstalled(say);
  await ensureBuilt(say);
}

/** Installs the packages unless those of the lock file are there. */
export async function ensureInstalled(say) {
  checkNode();
  await onceAtATime(say, isInstalled, async () => {
    say('Installing packages (npm ci)');
    await install();
  });
}

/** Builds dist/ unless it matches the sources. */
export async function ensureBuilt(say) {
  await onceAtATime(say, isBuilt, async () => {
    say('Building');
    await build();
  });
}

/** Two commands started at once must not install or build into the same folder: the second waits, and finds it done. */
async function onceAtATime(say, isDone, work) {
  if (isDone()) return;
  const unlock = await lock(say);
  try {
    if (!isDone()) await work();
  } finally {
    unlock();
  }
}

/** Runs a program with this terminal; gives its exit code. Signals to us go on to it. */
export async function run(file, args, options = {}) {
  const child = spawn(file, args, { cwd: root, stdio: 'inherit', ...options });
  // Ctrl-C in a terminal reaches the child by itself: we only must not go before it.
  const ignore = () => undefined;
  const pass = () => child.kill('SIGTERM');
  process.on('SIGINT', ignore);
  process.on('SIGTERM', pass);
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? 1));
    });
  } finally {
    process.removeListener('SIGINT', ignore);
    process.removeListener('SIGTERM', pass);
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  throw new PrepareError(`Carillon needs Node.js ${OLDEST_NODE.join('.')} or newer; this is ${process.versions.node}`);
}

/**
 * True if npm's own record of what it installed names the same versions as the lock file. npm writes that record last, so
 * an interrupted install has none.
 */
function isInstalled() {
  const wanted = readPackages(path.join(root, 'package-lock.json'));
  const present = readPackages(path.join(root, 'node_modules', '.package-lock.json'));
  if (wanted === undefined) throw new PrepareError('package-lock.json is missing: this clone is not complete');
  if (present === undefined) return false;
  // Packages for other platforms are optional and rightly absent.
  return Object.entries(wanted).every(
    ([name, { version, optional }]) =>
      name === '' || (present[name] === undefined ? optional === true : present[name].version === version),
  );
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/**
 * Development packages are wanted whatever the environment says: the build needs them. Install scripts are not: what the
 * PostgreSQL package does in its script, cluster/stores/postgres-binaries.ts does when it starts.
 */
async function install() {
  const args = ['ci', '--include=dev', '--include=optional', '--ignore-scripts', '--no-audit', '--no-fund'];
  const npm = process.env.npm_execpath;
  const code = npm?.endsWith('.js') ? await run(process.execPath, [npm, ...args]) : await run('npm', args);
  if (code !== 0) throw new PrepareError(`npm ci failed (exit code ${code}); its messages are above`);
}

async function lock(say) {
  const folder = path.join(root, '.carillon');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'prepare.lock');
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, String(process.pid));
  try {
    for (let waiting = false; !claim(draft, file); await delay(LOCK_POLL_MS)) {
      if (isAbandoned(file)) rmSync(file, { force: true });
      else if (!waiting) say(`Waiting for another command that is installing or building (${file})`);
      waiting = true;
    }
  } finally {
    rmSync(draft, { force: true });
  }
  const unlock = () => rmSync(file, { force: true });
  process.once('exit', unlock);
  return () => {
    process.removeListener('exit', unlock);
    unlock();
  };
}

/** Puts the lock in place, whole, if there is none. */
function claim(draft, file) {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** True if whoever holds the lock is gone, or has it for longer than any install takes. */
function isAbandoned(file) {
  try {
    const holder = Number(readFileSync(file, 'utf8'));
    if (holder === process.pid || Date.now() - statSync(file).mtimeMs > LOCK_STALE_MS) return true;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}
