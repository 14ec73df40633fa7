/**
 * dist/node.js: starts a node from its program (node-program.cjs, made by bundle.mjs) with what V8 had made of it before: compiling it again
 * would be half of a node's start. `--compile` makes that at the end of the build, as far as loading the program goes, and starts nothing.
 * The first node that ends in order leaves a fuller one, of all it ran, where it may write. V8 refuses what another version or other
 * flags made, and compiles.
 */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';

const dist = path.dirname(fileURLToPath(import.meta.url));
const file = path.join(dist, 'node-program.cjs');
const loaded = path.join(dist, 'node-program.loaded.bin');
const ran = path.join(dist, 'node-program.ran.bin');
const isToCompile = process.argv[2] === '--compile';

const builtAtMs = statSync(file).mtimeMs;
const compiled = isToCompile ? undefined : [ran, loaded].find((candidate) => existsSync(candidate));
const script = new vm.Script(readFileSync(file, 'latin1'), {
  filename: file,
  cachedData: compiled === undefined ? undefined : readFileSync(compiled),
  importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
const program = {};
script.runInThisContext()(program, createRequire(file), import.meta.url);

if (isToCompile) writeFileSync(loaded, script.createCachedData());
else {
  if (compiled !== ran || script.cachedDataRejected) process.once('exit', leaveCompiled);
  program.main();
}

function leaveCompiled(code) {
  // V8 compares a source's length only: what was made of an earlier build must not lie beside this one.
  if (code !== 0 || statSync(file).mtimeMs !== builtAtMs) return;
  const unfinished = `${ran}.${process.pid}`;
  try {
    writeFileSync(unfinished, script.createCachedData());
    renameSync(unfinished, ran);
  } catch {
    // An image that nobody may write to: the next node starts as this one did.
  }
}
