/**
 * Compiles the TypeScript into dist/, lays beside it the files that the compiler does not copy, makes one file of a node's program (bundle.mjs),
 * and builds the console page.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = path.join(root, 'dist');
// The simulation is run by hand too.
const FOLDERS = ['src', 'cli', 'cluster', 'scripts', 'bench', 'test/kit', 'test/sim'];
/** What is built: each part by itself, and only when something it is made of has changed since. */
const PROGRAMS = {
  stamp: path.join(dist, '.built'),
  inputs: () => ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json', ...sources()],
};
const PAGE = {
  stamp: path.join(dist, '.built-page'),
  inputs: () => ['package-lock.json', 'tsconfig.json', 'vite.config.ts', 'src/admin/protocol.ts', ...below('web')],
};

/** Something the user can put right: the text is enough. */
export class PrepareError extends Error {}

/** True if dist/ was built from exactly the present sources. */
export function isBuilt() {
  return isFresh(PROGRAMS) && isFresh(PAGE);
}

/** Builds what has changed; throws if there are faults in it. What the tools print goes to the standard error output. */
export async function build() {
  buildPart(PROGRAMS, compile);
  buildPart(PAGE, buildPage);
}

function isFresh({ stamp, inputs }) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(inputs());
}

function buildPart(part, work) {
  if (isFresh(part)) return;
  // Taken before the work: a source saved meanwhile must count as changed.
  const before = fingerprint(part.inputs());
  rmSync(part.stamp, { force: true });
  work();
  mkdirSync(dist, { recursive: true });
  writeFileSync(part.stamp, before);
}

function buildPage() {
  const args = [path.join('node_modules', 'vite', 'bin', 'vite.js'), 'build', '--logLevel', 'warn'];
  runTool(args, 'The console page could not be built, see above');
}

function runTool([file, ...args], fault) {
  const { status } = spawnSync(process.execPath, [path.join(root, file), ...args], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new PrepareError(fault);
}

function compile() {
  removeLeftovers();
  const args = [path.join('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json'];
  runTool(args, 'The TypeScript compiler found faults, see above');
  for (const file of sources().filter(isAsset)) {
    mkdirSync(path.dirname(path.join(dist, file)), { recursive: true });
    cpSync(path.join(root, file), path.join(dist, file));
  }
  runTool([path.join('scripts', 'bundle.mjs')], "The node's program could not be put together, see above");
}

function fingerprint(files) {
  const hash = createHash('sha256');
  for (const file of files) {
    const { size, mtimeMs } = statSync(path.join(root, file));
    hash.update(`${file}\0${size}\0${mtimeMs}\0`);
  }
  return hash.digest('hex');
}

function sources() {
  return FOLDERS.flatMap(below).sort();
}

/** The files of a folder, from the root. */
function below(folder) {
  return filesBelow(path.join(root, folder))
    .map((file) => path.relative(root, file))
    .sort();
}

function isAsset(file) {
  return !/\.(ts|mts|mjs|md)$/.test(file);
}

/** A deleted migration or module must not live on in dist/. */
function removeLeftovers() {
  const wanted = new Set(sources());
  for (const file of FOLDERS.flatMap((folder) => filesBelow(path.join(dist, folder)))) {
    const relative = path.relative(dist, file);
    const compiledFrom = relative.replace(/\.js(\.map)?$/, '.ts');
    if (!wanted.has(relative) && !wanted.has(compiledFrom)) rmSync(file);
  }
}

function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
