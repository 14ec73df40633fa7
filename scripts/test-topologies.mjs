/** `npm run test:topologies`: the tests on a Redis Cluster, behind Sentinels and through PgBouncer; with arguments, vitest with those. */
import { ensureBuilt, ensureInstalled, PrepareError } from './prepare.mjs';
import { runTopologies } from './topologies.mjs';

let code = 1;
try {
  const say = (line) => console.log(line);
  await ensureInstalled(say);
  await ensureBuilt(say);
  code = await runTopologies(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof PrepareError ? error.message : error);
}
process.exit(code);
