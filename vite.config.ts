// How the console page is built: one script, one style sheet and the fonts, in dist/web, with no address outside of it.

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('web', import.meta.url)),
  // The node serves the page here.
  base: '/admin/',
  cacheDir: fileURLToPath(new URL('node_modules/.vite-console', import.meta.url)),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('dist/web', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    // Everything is a file of its own: the content security policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
