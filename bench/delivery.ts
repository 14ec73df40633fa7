/**
 * How many deliveries a second, and what they cost: messages that come due at one moment, to a local receiver, beside the bare
 * loop of calls (the floor) and BullMQ, on the same stores.
 *
 * The contenders take turns, in another order each round, so that what else the machine does meets them all; the figures are medians over
 * the rounds. heats.ts says what a heat is.
 */
import { parseArgs } from 'node:util';
import { onHarness, type Harness } from './harness.js';
import { describeTrial, mediansOf, printMedians, type Trial } from './delivery-report.js';
import { writeRecord } from './figures.js';
import { HEATS, type Task } from './trials.js';
import { COUNTING_STATEMENTS } from './profile.js';

const CONTENDERS = ['floor', 'carillon', 'bullmq'] as const;

const options = parseArgs({
  options: {
    messages: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '50,200' },
    only: { type: 'string', default: CONTENDERS.join(',') },
    json: { type: 'boolean', default: false },
    /** Shows where the CPU goes. Counting costs time itself: no figures for the record. */
    profile: { type: 'boolean', default: false },
    'no-record': { type: 'boolean', default: false },
  },
}).values;

async function main(harness: Harness): Promise<void> {
  const trials = await runAll(harness);
  const medians = mediansOf(trials);
  const figures = {
    messages: Number(options.messages),
    bodyBytes: 200,
    rounds: Number(options.rounds),
    medians,
    trials,
  };
  if (!options['no-record'] && !options.profile) writeRecord('delivery', harness.stores.versions, figures);
  if (options.json) {
    console.log(JSON.stringify(figures));
  } else {
    console.log(`\n${options.messages} messages, medians of ${options.rounds}; CPU seconds for 1,000 deliveries\n`);
    printMedians(medians);
  }
}

async function runAll(harness: Harness): Promise<Trial[]> {
  const contenders = CONTENDERS.filter((name) => options.only.split(',').includes(name));
  const trials: Trial[] = [];
  for (const concurrency of options.concurrency.split(',').map(Number)) {
    const { profile } = options;
    const task: Task = { harness, messages: Number(options.messages), concurrency, profile };
    for (let round = 0; round < Number(options.rounds); round++) {
      for (let turn = 0; turn < contenders.length; turn++) {
        const subject = contenders[(round + turn) % contenders.length] ?? 'floor';
        await harness.stores.flushRedis();
        const trial = await HEATS[subject](task);
        if (!options.json) console.error(describeTrial(trial));
        trials.push(trial);
      }
    }
  }
  return trials;
}

await onHarness({ postgresSettings: options.profile ? COUNTING_STATEMENTS : {} }, main);
