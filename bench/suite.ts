/**
 * `npm run bench`: the whole picture in one run, each figure beside a peer or a floor of the same run. Prints a table (with `--json` one
 * object) and writes it to bench/results. README.md says what is measured and how to read it.
 */
import { parseArgs } from 'node:util';
import { onHarness, type Harness } from './harness.js';
import { writeRecord } from './figures.js';
import { filledDatabase, type FilledDatabase } from './filled.js';
import { loadAverage } from './machine.js';
import { accept } from './parts/accept.js';
import { answer } from './parts/answer.js';
import { deliver } from './parts/deliver.js';
import { herd } from './parts/herd.js';
import { footprint } from './parts/hold.js';
import { lag } from './parts/lag.js';
import { lists } from './parts/lists.js';
import { restart } from './parts/restart.js';
import { sustained } from './parts/sustained.js';
import { watchers } from './parts/watchers.js';
import { isKept, type Bench, type Line, type Part, type PartResult } from './parts/part.js';
import { SMOKE_NODES, sizesOf, type Form } from './sizes.js';
import { printLines } from './suite-table.js';

/** In the order in which they run. */
const PARTS = {
  footprint,
  restart,
  accept,
  deliver,
  lag,
  herd,
  sustained,
  watchers,
  answer,
  lists,
} as const satisfies Record<string, Part>;

type PartName = keyof typeof PARTS;

const options = parseArgs({
  options: {
    /** Everything in two minutes. */
    quick: { type: 'boolean', default: false },
    /** Everything once, however small: that it runs at all. */
    smoke: { type: 'boolean', default: false },
    /** Parts to run, separated by commas. */
    only: { type: 'string' },
    /** Rows of the largest table. */
    rows: { type: 'string' },
    /** Folder for the stores that is kept, so that a large table need be filled only once. */
    data: { type: 'string' },
    json: { type: 'boolean', default: false },
    'no-record': { type: 'boolean', default: false },
  },
}).values;

const form: Form = options.smoke ? 'smoke' : options.quick ? 'quick' : 'full';
const sizes = sizesOf(form, wholeNumber('--rows', options.rows));

async function main(harness: Harness): Promise<void> {
  const names = partNames(options.only);
  const tables = new Map<number, FilledDatabase>();
  const bench: Bench = {
    harness,
    sizes,
    filled: async (rows) => {
      const known = tables.get(rows);
      if (known !== undefined) return known;
      const startedAtMs = performance.now();
      const filled = await filledDatabase(harness, rows);
      bench.say(`table of ${rows} rows: ready after ${Math.round((performance.now() - startedAtMs) / 1_000)} s`);
      tables.set(rows, filled);
      return filled;
    },
    say: (line) => console.error(line),
  };
  const results: Partial<Record<PartName, PartResult>> = {};
  try {
    for (const name of names) results[name] = await timed(name, bench);
  } finally {
    await Promise.all([...tables.values()].map((table) => table.close()));
  }
  report(harness, results);
}

async function timed(name: PartName, bench: Bench): Promise<PartResult> {
  const startedAtMs = performance.now();
  bench.say(`--- ${name}`);
  const { figures, lines } = await PARTS[name](bench);
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  bench.say(`--- ${name}: ${seconds} s`);
  return { figures: { ...figures, seconds, loadAverageAtEnd: loadAverage() }, lines };
}

function report(harness: Harness, results: Partial<Record<PartName, PartResult>>): void {
  const entries = Object.entries(results) as [PartName, PartResult][];
  const figures = {
    form,
    rows: options.rows ?? null,
    ...Object.fromEntries(entries.map(([name, result]) => [name, result.figures])),
    missed: entries.flatMap(([name, { lines }]) => lines.filter(isFailed).map((line) => ({ part: name, ...line }))),
  };
  if (!options['no-record']) writeRecord(recordName(entries.length), harness.stores.versions, figures);
  if (options.json) console.log(JSON.stringify(figures));
  else printLines(entries.map(([name, { lines }]) => [name, lines]));
}

/** A run of some parts does not take the place of one of all. */
function recordName(parts: number): string {
  const all = parts === Object.keys(PARTS).length;
  return ['suite', ...(form === 'full' ? [] : [form]), ...(all ? [] : ['part'])].join('-');
}

function isFailed({ value, must }: Line): boolean {
  return must !== undefined && !isKept(value, must);
}

function partNames(only: string | undefined): PartName[] {
  const known = Object.keys(PARTS) as PartName[];
  if (only === undefined) return known;
  const wanted = only.split(',');
  const unknown = wanted.filter((name) => !(known as string[]).includes(name));
  if (unknown.length > 0) throw new Error(`--only names ${unknown.join(', ')}, expected some of ${known.join(', ')}`);
  return known.filter((name) => wanted.includes(name));
}

function wholeNumber(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text.replaceAll('_', ''));
  if (Number.isInteger(value) && value >= 0) return value;
  throw new Error(`${option} is "${text}", expected a whole number`);
}

await onHarness(
  { keptFolder: options.data, nodeSettings: form === 'smoke' ? SMOKE_NODES : {}, warmUpMessages: sizes.warmUpMessages },
  main,
);
