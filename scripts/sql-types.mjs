/**
 * `npm run sql-types`: runs sql-types/write.ts as it stands. It must run when the types that it writes are stale, and so nothing compiles.
 */
import { runnerImport } from 'vite';

await runnerImport(new URL('./sql-types/write.ts', import.meta.url).pathname, { configFile: false, logLevel: 'error' });
