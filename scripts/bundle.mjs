/**
 * Makes one file of a node's program and the packages it uses, dist/node.js: Node.js spends more time on finding and reading some hundreds of
 * modules than a node needs to start.
 */
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
    return { code: code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`), map: null };
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
    rolldownOptions: { output: { entryFileNames: 'node.js', codeSplitting: false } },
  },
});
