/** `npm run chaos`: installs and builds what is missing, then breaks a cluster by a plan and judges it; arguments go on. */
import path from 'node:path';
import { prepare, PrepareFault, root, run } from './prepare.mjs';

let code = 1;
try {
  // Only the result goes to the standard output: with --json it may be piped on.
  await prepare((line) => console.error(line));
  code = await run(process.execPath, [path.join(root, 'dist', 'scripts', 'chaos.js'), ...process.argv.slice(2)]);
} catch (error) {
  console.error(error instanceof PrepareFault ? error.message : error);
}
process.exit(code);
