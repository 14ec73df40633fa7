/** Answer: "did this schedule run last Tuesday, and what did it do", asked of a table full of cold rows and a fortnight's history. */
import { call, startCarillon } from '../carillon-node.js';
import { FILLED_FAMILY, scheduleId } from '../clone-rows.js';
import { median, percentile, rounded } from '../figures.js';
import { HISTORY_DAYS } from '../filled.js';
import { mostRows, type Bench, type PartResult } from './part.js';

const DAY_MS = 86_400_000;
const TUESDAY = 2;
const QUESTIONS = 300;
const WARM_UP = 50;
const MEDIAN_MOST_MS = 10;

export async function answer(bench: Bench): Promise<PartResult> {
  const { stores, prefix, rows, history } = await bench.filled(mostRows(bench));
  const day = lastTuesday();
  const schedules = history / HISTORY_DAYS;
  const node = await startCarillon(stores, 50, [], 'node-1', prefix);
  const durationsMs: number[] = [];
  let wrong = 0;
  try {
    for (let question = 0; question < WARM_UP + QUESTIONS; question++) {
      const id = scheduleId(FILLED_FAMILY, Math.floor(Math.random() * schedules));
      const askedAtMs = performance.now();
      const { runs } = (await call(node.url, 'GET', `/v2/runs?schedule=${id}&from=${day}&to=${day}`)) as {
        runs: unknown[];
      };
      if (question >= WARM_UP) durationsMs.push(performance.now() - askedAtMs);
      if (runs.length !== 1) wrong += 1;
    }
  } finally {
    await node.stop();
  }
  const medianMs = rounded(median(durationsMs), 2);
  const p99Ms = rounded(percentile(durationsMs, 0.99), 2);
  return {
    figures: { rows, history, questions: QUESTIONS, medianMs, p99Ms, wrong },
    lines: [
      {
        what: `did it run last Tuesday, ${rows.toLocaleString('en')} rows and ${history.toLocaleString('en')} of history`,
        value: medianMs,
        unit: 'ms',
        must: { atMost: MEDIAN_MOST_MS },
      },
      { what: '  p99', value: p99Ms, unit: 'ms' },
      { what: '  answers that were not one row', value: wrong, unit: '', must: { atMost: 0 } },
    ],
  };
}

/** The last Tuesday that is over, as the API takes it. */
function lastTuesday(): string {
  let atMs = Date.now() - DAY_MS;
  while (new Date(atMs).getUTCDay() !== TUESDAY) atMs -= DAY_MS;
  return new Date(atMs).toISOString().slice(0, 10);
}
