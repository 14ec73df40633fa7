/** `npm run sim`: installs and builds what is missing, then simulates the cluster; arguments go on (`--seeds`, `--seconds`, `--seed`). */
import path from 'node:path';
import { prepare, PrepareFault, root, run } from './prepare.mjs';

let code = 1;
try {
  await prepare((line) => console.error(line));
  code = await run(process.execPath, [path.join(root, 'dist', 'scripts', 'sim.js'), ...process.argv.slice(2)]);
} catch (error) {
  console.error(error instanceof PrepareFault ? error.message : error);
}
process.exit(code);
