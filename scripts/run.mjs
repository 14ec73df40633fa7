/**
 * Installs and builds what is missing, then runs a compiled program: `node scripts/run.mjs bench/delivery --json` runs
 * dist/bench/delivery.js with `--json`, and ends with its exit code.
 */
import path from 'node:path';
import { prepare, PrepareError, root, run } from './prepare.mjs';

const [program, ...args] = process.argv.slice(2);

let code = 1;
try {
  // Only the program's own output goes to the standard output: it may be piped on.
  await prepare((line) => console.error(line));
  code = await run(process.execPath, [path.join(root, 'dist', `${program}.js`), ...args]);
} catch (error) {
  console.error(error instanceof PrepareError ? error.message : error);
}
process.exit(code);
