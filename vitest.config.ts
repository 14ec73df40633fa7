import { configDefaults, defineConfig } from 'vitest/config';

// What only means something on a Redis Cluster, behind Sentinels or through PgBouncer is run by `npm run test:topologies`.
const elsewhere = process.env.CARILLON_TEST_TOPOLOGY === undefined ? ['test/topologies/**'] : [];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...elsewhere],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Loading the code anew for each file cost a minute of the whole run, and no test leaves anything behind in it.
    isolate: false,
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
  },
});
