/**
 * How many deliveries a second, and what they cost: messages that come due at one moment, to a local receiver, beside the bare
 * loop of calls (the floor) and BullMQ, on the same stores.
 *
 * The contenders take turns, in another order each round, so that what else the machine does meets them all; the figures are medians over
 * the rounds. heats.ts says what a heat is.
 */
import { parseArgs } from 'node:util';
import { onCourse, type Course } from './course.js';
import { describeHeat, mediansOf, printMedians, type Heat } from './delivery-report.js';
import { writeRecord } from './figures.js';
import { HEATS, type Task } from './heats.js';
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

async function main(course: Course): Promise<void> {
  const heats = await runAll(course);
  const medians = mediansOf(heats);
  const figures = {
    messages: Number(options.messages),
    bodyBytes: 200,
    rounds: Number(options.rounds),
    medians,
    heats,
  };
  if (!options['no-record'] && !options.profile) writeRecord('delivery', course.stores.versions, figures);
  if (options.json) {
    console.log(JSON.stringify(figures));
  } else {
    console.log(`\n${options.messages} messages, medians of ${options.rounds}; CPU seconds for 1,000 deliveries\n`);
    printMedians(medians);
  }
}

async function runAll(course: Course): Promise<Heat[]> {
  const contenders = CONTENDERS.filter((name) => options.only.split(',').includes(name));
  const heats: Heat[] = [];
  for (const concurrency of options.concurrency.split(',').map(Number)) {
    const { profile } = options;
    const task: Task = { course, messages: Number(options.messages), concurrency, profile };
    for (let round = 0; round < Number(options.rounds); round++) {
      for (let turn = 0; turn < contenders.length; turn++) {
        const contender = contenders[(round + turn) % contenders.length] ?? 'floor';
        await course.stores.flushRedis();
        const heat = await HEATS[contender](task);
        if (!options.json) console.error(describeHeat(heat));
        heats.push(heat);
      }
    }
  }
  return heats;
}

await onCourse({ postgresSettings: options.profile ? COUNTING_STATEMENTS : {} }, main);
