/** Compiles the TypeScript into dist/ and lays beside it the files that the compiler does not copy. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = path.join(root, 'dist');
const stamp = path.join(dist, '.built');
// The simulation is run by hand too.
const FOLDERS = ['src', 'cluster', 'scripts', 'bench', 'test/sim'];
const INPUTS = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

/** Something the user can put right: the text is enough. */
export class PrepareFault extends Error {}

/** True if dist/ was built from exactly the present sources. */
export function isBuilt() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint();
}

/** Builds; throws if the compiler finds faults. What it prints goes to the standard error output. */
export async function build() {
  // Taken before compiling: a source saved meanwhile must count as changed.
  const before = fingerprint();
  rmSync(stamp, { force: true });
  removeLeftovers();
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new PrepareFault('The TypeScript compiler found faults, see above');
  for (const file of sources().filter(isAsset)) {
    mkdirSync(path.dirname(path.join(dist, file)), { recursive: true });
    cpSync(path.join(root, file), path.join(dist, file));
  }
  mkdirSync(dist, { recursive: true });
  writeFileSync(stamp, before);
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const file of [...INPUTS, ...sources()]) {
    const { size, mtimeMs } = statSync(path.join(root, file));
    hash.update(`${file}\0${size}\0${mtimeMs}\0`);
  }
  return hash.digest('hex');
}

function sources() {
  return FOLDERS.flatMap((folder) => filesBelow(path.join(root, folder)))
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
