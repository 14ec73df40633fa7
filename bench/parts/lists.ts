/** Lists: every request that a view of the console makes, asked one by one of a node whose table is full. */
import { call, startCarillon } from '../carillon-node.js';
import { median, percentile, rounded } from '../figures.js';
import { HISTORY_DAYS } from '../filled.js';
import { questionsOf, type Question } from '../list-questions.js';
import { consoleHeaders, markRows } from '../list-rows.js';
import { mostRows, type Bench, type Line, type PartResult } from './part.js';

const P99_MOST_MS = 200;

interface Answered {
  readonly view: Question['view'];
  readonly what: string;
  /** The first question, of which nothing was read before. */
  readonly firstMs: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  /** Fewest and most rows of an answer. */
  readonly rows: readonly [number, number];
  /** Answers that were not all there is: a later page goes on. */
  readonly goOn: number;
  readonly isCount: boolean;
}

export async function lists(bench: Bench): Promise<PartResult> {
  const filled = await bench.filled(mostRows(bench));
  const { stores, prefix, rows, history } = filled;
  const { lists: sizes } = bench.sizes;
  const node = await startCarillon(stores, 50, [], 'node-1', prefix);
  const answered: Answered[] = [];
  try {
    const marked = await markRows({ ...bench.harness, stores }, filled, node, sizes);
    const asked = { ...marked, schedules: rows, withHistory: history / HISTORY_DAYS, nowMs: Date.now() };
    for (const question of questionsOf(asked)) answered.push(await askAll(node.url, question, sizes));
  } finally {
    await node.stop();
    await filled.tidy();
  }
  return {
    figures: { rows, history, ...sizes, mostP99Ms: Math.max(...judged(answered)), lists: answered },
    lines: [
      {
        what: `the slowest list, ${rows.toLocaleString('en')} messages and schedules, p99`,
        value: Math.max(...judged(answered)),
        unit: 'ms',
        must: { atMost: P99_MOST_MS },
      },
      ...answered.map(lineOf),
    ],
  };
}

/** Asks so often, and throws when an answer is a wrong one. */
async function askAll(
  api: string,
  question: Question,
  { questions, warmUp }: { readonly questions: number; readonly warmUp: number },
): Promise<Answered> {
  const durationsMs: number[] = [];
  const counts: number[] = [];
  let cursor = '';
  let goOn = 0;
  for (let number = 0; number < warmUp + questions; number++) {
    const target = question.ask(cursor);
    const askedAtMs = performance.now();
    const answer = (await call(api, 'GET', target, consoleHeaders())) as Readonly<Record<string, unknown>>;
    durationsMs.push(performance.now() - askedAtMs);
    cursor = typeof answer.cursor === 'string' ? answer.cursor : '';
    if (cursor !== '') goOn += 1;
    counts.push(rowsOf(question, answer, target));
  }
  const measured = durationsMs.slice(warmUp);
  return {
    view: question.view,
    what: question.what,
    firstMs: rounded(durationsMs[0] ?? Number.NaN, 1),
    medianMs: rounded(median(measured), 1),
    p99Ms: rounded(percentile(measured, 0.99), 1),
    rows: [Math.min(...counts), Math.max(...counts)],
    goOn,
    isCount: question.isCount === true,
  };
}

/** How many rows an answer has. */
function rowsOf(
  { rows, expect, view, what }: Question,
  answer: Readonly<Record<string, unknown>>,
  target: string,
): number {
  const found = rows === '' ? [answer] : answer[rows];
  const problem = !Array.isArray(found)
    ? `has no ${rows}`
    : expect === 'rows' && found.length === 0
      ? 'has no rows'
      : expect === 'none' && found.length > 0
        ? `has ${found.length} rows, expected none`
        : null;
  if (problem === null) return (found as unknown[]).length;
  throw new Error(`the answer to ${target} (${view}: ${what}) ${problem}: ${JSON.stringify(answer).slice(0, 300)}`);
}

/** Counting is a click of its own and reads every row of what it counts: it is shown and not judged. */
function judged(answered: readonly Answered[]): number[] {
  return answered.filter(({ isCount }) => !isCount).map(({ p99Ms }) => p99Ms);
}

function lineOf({ view, what, medianMs, p99Ms, isCount }: Answered): Line {
  return {
    what: `  ${view}: ${what} (median ${medianMs})`,
    value: p99Ms,
    unit: 'ms',
    ...(isCount ? {} : { must: { atMost: P99_MOST_MS } }),
  };
}
