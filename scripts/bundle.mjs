/**
 * Makes one file of a node's program and the packages it uses, and what V8 makes of it: Node.js spends more time on finding, reading and compiling
 * some hundreds of modules than a node needs to start. dist/node.js (start-node.mjs) starts it.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = path.join(root, 'dist');

/** A module finds its files (scripts, statements, migrations) from where it lay before, which is where they are. */
const ownUrls = {
  name: 'own-urls',
  transform(code, id) {
    if (!id.startsWith(dist) || !code.includes('import.meta.url')) return null;
    const place = JSON.stringify(path.relative(dist, id).split(path.sep).join('/'));
    return { code: code.replaceAll('import.meta.url', `new URL(${place}, ownUrl).href`), map: null };
  },
};

await build({
  root,
  configFile: false,
  publicDir: false,
  logLevel: 'error',
  plugins: [ownUrls],
  ssr: { noExternal: true },
  build: {
    ssr: path.join(dist, 'src', 'main.js'),
    outDir: dist,
    emptyOutDir: false,
    minify: false,
    target: 'node20',
    rolldownOptions: { output: { format: 'cjs', entryFileNames: 'node-program.cjs', codeSplitting: false } },
  },
});

// As one function, for start-node.mjs, and in ASCII: V8 keeps a source in two bytes a character when a single one needs them.
const program = path.join(dist, 'node-program.cjs');
const inAscii = readFileSync(program, 'utf8').replace(
  /[^\0-\x7f]/g,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
);
writeFileSync(program, `(function (exports, require, ownUrl) {${inAscii}\n})`);

const start = path.join(dist, 'node.js');
copyFileSync(path.join(root, 'scripts', 'start-node.mjs'), start);
execFileSync(process.execPath, [start, '--compile'], { stdio: 'inherit' });
