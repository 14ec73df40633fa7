#!/usr/bin/env node
/** `npx carillon` and `npm run carillon --`: the command line client, built first if need be. */
import { fileURLToPath } from 'node:url';
import { prepare, PrepareError } from '../scripts/prepare.mjs';

try {
  // Only the client's own output may go to the standard output: it may be piped on.
  await prepare((line) => console.error(line));
} catch (error) {
  console.error(error instanceof PrepareError ? error.message : error);
  process.exit(1);
}
process.argv[1] = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
await import('../dist/cli/main.js');
