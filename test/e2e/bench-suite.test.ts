// The benchmark suite in its smallest form: that every part of it runs, and that what it prints has the shape that others read.

import { spawn } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it, vi } from 'vitest';

vi.setConfig({ testTimeout: 300_000 });

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Every part is run when time does not matter (CARILLON_TEST_FULL); else those that measure each kind of thing once. */
const ALL = process.env.CARILLON_TEST_FULL !== undefined;

it('prints one object with the figures of every part', async () => {
  await ensureBuilt();
  const parts = ALL ? [] : ['--only', 'accept,sustained,answer'];
  const { code, output, log } = await run(['--smoke', '--json', '--no-record', ...parts]);
  expect(code, log).toBe(0);
  const number: unknown = expect.any(Number);
  const figures: unknown = JSON.parse(output);
  expect(figures).toMatchObject({
    form: 'smoke',
    accept: { single: { perSecond: number }, batch: { perSecond: number, cpu: { postgres: number } } },
    sustained: { accepted: 100, lost: 0, twice: 0, byMinute: [{}, {}] },
    answer: { wrong: 0, medianMs: number },
  });
  if (!ALL) return;
  expect(figures).toMatchObject({
    hold: { redisBytesPerColdMessage: number, redisBytesPerHotMessage: number, bullmq: { jobs: 200 } },
    restart: {
      starts: [{ rows: 0 }, { rows: 2_000, firstDeliveryMs: number, residentMib: number }],
      preloaded: [{}, {}],
    },
    deliver: { perSecond: number, ratioToBullmq: number, cpuPer1000: number },
    lag: { rates: [{ coldRows: { p99Ms: number }, bullmq: { p99Ms: number } }], sweeping: { promoted: 500 } },
    herd: { together: { drainedMs: number }, spread: { others: { p99Ms: number } } },
    watchers: { sockets: 20, ratio: number, bytesPerSecond: number, faults: 0 },
    lists: { rows: 2_000, mostP99Ms: number },
  });
});

async function ensureBuilt(): Promise<void> {
  const file: string = pathToFileURL(`${ROOT}scripts/prepare.mjs`).href;
  const prepare = (await import(file)) as { ensureBuilt(say: (line: string) => void): Promise<void> };
  await prepare.ensureBuilt(() => undefined);
}

function run(args: readonly string[]): Promise<{ code: number | null; output: string; log: string }> {
  const child = spawn(process.execPath, [`${ROOT}dist/bench/suite.js`, ...args], { cwd: ROOT });
  let output = '';
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output, log }));
  });
}
