// The simulation has teeth: a cluster with one of its guards taken away is found out.

import { expect, it } from 'vitest';
import { MUTATIONS } from './mutations.js';
import { SCHEDULE_MUTATIONS } from './schedule-mutations.js';
import { simulate } from './simulation.js';

const MOST_SEEDS = 80;

it.each([...MUTATIONS, ...SCHEDULE_MUTATIONS])(
  'it is noticed when $name',
  { timeout: 300_000 },
  async ({ name, mutant, ...settings }) => {
    for (let seed = 1; seed <= MOST_SEEDS; seed++) {
      const { violations } = await simulate(seed, { ...settings, mutant });
      if (violations.length === 0) continue;
      process.stdout.write(`${name}: noticed after ${seed} seeds: ${(violations[0] ?? '').slice(0, 120)}\n`);
      return;
    }
    expect.fail(`${MOST_SEEDS} seeds did not notice that ${name}`);
  },
);
