/** `npm run bench:delivery`, `npm run bench:lag`: installs and builds what is missing, then measures; further arguments go on. */
import path from 'node:path';
import { prepare, PrepareFault, root, run } from './prepare.mjs';

const [name, ...args] = process.argv.slice(2);

let code = 1;
try {
  // Only the figures go to the standard output: with --json they may be piped on.
  await prepare((line) => console.error(line));
  code = await run(process.execPath, [path.join(root, 'dist', 'bench', `${name}.js`), ...args]);
} catch (error) {
  console.error(error instanceof PrepareFault ? error.message : error);
}
process.exit(code);
