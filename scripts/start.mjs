/** `npm start`: installs and builds what is missing, then runs Carillon here until Ctrl-C. */
import { prepare, PrepareError } from './prepare.mjs';

let code = 1;
try {
  await prepare((line) => console.log(line));
  const { start } = await import('../dist/cluster/launcher/start.js');
  code = await start(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof PrepareError ? error.message : error);
}
process.exit(code);
