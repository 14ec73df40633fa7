import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// What only means something on a Redis Cluster, behind Sentinels or through PgBouncer is run by `npm run test:topologies`.
const elsewhere = process.env.CARILLON_TEST_TOPOLOGY === undefined ? ['test/topologies/**'] : [];

// The unit tests alone need neither PostgreSQL nor Redis.
const withStores = process.env.CARILLON_TEST_STORES !== 'none';

/** Long ones first, the longest before all others, so that in the end no worker waits for another's. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      ['/e2e/chaos', '/e2e/kill', '/e2e/', '/sim/', ''].findIndex((part) => moduleId.includes(part));
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...elsewhere],
    globalSetup: withStores ? ['test/kit/global-setup.ts'] : [],
    pool: 'forks',
    // Loading the code anew for each file cost a minute of the whole run, and no test leaves anything behind in it.
    isolate: false,
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
  },
});
