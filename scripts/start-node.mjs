/**
 * dist/node.js: starts a node from its program (node-program.cjs, made by bundle.mjs) with what V8 made of it when it was built, beside which
 * compiling it again would be a third of a node's start. V8 refuses what another version or other flags made, and compiles then.
 * `--compile` makes it, and starts nothing.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';

const dist = path.dirname(fileURLToPath(import.meta.url));
const file = path.join(dist, 'node-program.cjs');
const compiledFile = path.join(dist, 'node-program.bin');
const isToCompile = process.argv[2] === '--compile';

const script = new vm.Script(readFileSync(file, 'latin1'), {
  filename: file,
  cachedData: isToCompile || !existsSync(compiledFile) ? undefined : readFileSync(compiledFile),
  importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
const program = {};
script.runInThisContext()(program, createRequire(file), import.meta.url);
if (isToCompile) writeFileSync(compiledFile, script.createCachedData());
else program.main();
