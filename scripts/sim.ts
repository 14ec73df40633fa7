// Runs simulations of the cluster, seed after seed: `npm run sim -- --seeds 100 --seconds 60`, `npm run sim -- --seed 7`.

import { Command, InvalidArgumentError } from 'commander';
import { simulate, type SimulationResult } from '../test/sim/simulation.js';
import { wallMs } from '../test/sim/turns.js';

const KEPT_LINES = 60;
const DEFAULT_SEEDS = 100;
const SEEDS = 1_000_000;

interface Options {
  readonly seed?: number;
  readonly seeds: number;
  readonly from?: number;
  readonly seconds: number;
  readonly lines: number;
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0) throw new InvalidArgumentError('Expected a whole number.');
  return number;
}

async function main(): Promise<number> {
  const command = new Command('sim')
    .description('Simulates the cluster on a virtual clock, with faults, and checks what must always hold.')
    .option('--seed <n>', 'this seed alone, with the end of its history', wholeNumber)
    .option('--seeds <n>', 'so many seeds', wholeNumber, DEFAULT_SEEDS)
    .option('--from <n>', 'the first of them; by chance when left out', wholeNumber)
    .option('--seconds <n>', 'virtual seconds of each simulation in which things go wrong', wholeNumber, 30)
    .option('--lines <n>', 'lines of history to print', wholeNumber, KEPT_LINES)
    .parse();
  const { seed, seeds, from, seconds: faultSeconds, lines } = command.opts<Options>();
  if (seed !== undefined) {
    const result = await simulate(seed, { faultsMs: 1_000 * faultSeconds });
    report(result, lines);
    console.log(
      `seed ${seed}: ${result.steps} steps, ${seconds(result.virtualMs)} virtual seconds, hash ${result.hash}, ` +
        `${result.messages} messages, ${result.claims} claims, ${result.refusals} refused, ${result.moves} moves, ` +
        `${result.secondDeliveries} second deliveries, ${result.changes} changes of schedules, ${result.fires} fires, ` +
        `${result.skipped} skipped, ${result.callbacks} callbacks, ${result.duplicates} repeats, ${result.violations.length} violations`,
    );
    return result.violations.length === 0 ? 0 : 1;
  }
  return runMany(from ?? Math.floor(Math.random() * SEEDS), seeds, { seconds: faultSeconds, lines });
}

async function runMany(
  from: number,
  seeds: number,
  { seconds: faultSeconds, lines }: Pick<Options, 'seconds' | 'lines'>,
): Promise<number> {
  const startedAtMs = wallMs();
  const failed: number[] = [];
  let virtualMs = 0;
  for (let seed = from; seed < from + seeds; seed++) {
    const result = await simulate(seed, { faultsMs: 1_000 * faultSeconds });
    virtualMs += result.virtualMs;
    if (result.violations.length === 0) continue;
    failed.push(seed);
    console.log(`\nseed ${seed}`);
    report(result, lines);
  }
  const wallSeconds = (wallMs() - startedAtMs) / 1_000;
  console.log(
    `seeds ${from} to ${from + seeds - 1}: ${failed.length} with violations${failed.length > 0 ? ` (${failed.join(', ')})` : ''}; ` +
      `${(seeds / wallSeconds).toFixed(1)} seeds and ${(virtualMs / 1_000 / wallSeconds).toFixed(0)} virtual seconds a second`,
  );
  return failed.length === 0 ? 0 : 1;
}

function report({ lines, violations }: SimulationResult, most: number): void {
  for (const line of lines.slice(Math.max(0, lines.length - most))) console.log(line);
  for (const violation of violations) console.log(`violated: ${violation}`);
}

function seconds(durationMs: number): string {
  return (durationMs / 1_000).toFixed(1);
}

process.exitCode = await main();
