/** The command line of the chaos script. */
import { Command, InvalidArgumentError } from 'commander';
import { FAULT_KINDS, type FaultKind } from './evidence.js';

export interface ChaosOptions {
  readonly minutes: number;
  readonly nodes: number;
  readonly seed: number;
  readonly only: readonly FaultKind[];
  /** Deliveries a second. */
  readonly rate: number;
  readonly leaseMs: number;
  readonly shards: number;
  readonly json: boolean;
  /** Keep the folder with logs and records even if all is well. */
  readonly keep: boolean;
}

/** Reads the arguments; on a fault it prints what was expected and ends the process, as commander does. */
export function readOptions(argv: readonly string[]): ChaosOptions {
  const command = new Command('chaos')
    .description(
      'Runs a cluster of real processes under load, breaks it by a seeded plan, and judges what was delivered. ' +
        'Exit code 0: every promise was kept; 1: not.',
    )
    .option('--minutes <number>', 'length of the run, from first load to last check', numberFrom(0.5, 1_440), 10)
    .option('--nodes <number>', 'nodes behind the load balancer', wholeFrom(1, 16), 3)
    .option('--seed <number>', 'seed of the plan and the load (default: drawn, and printed)', wholeFrom(0, 2 ** 32 - 1))
    .option('--only <kinds>', `only these faults, comma-separated: ${FAULT_KINDS.join(', ')}`, readKinds, [])
    .option('--rate <number>', 'deliveries a second', numberFrom(1, 1_000), 30)
    .option('--lease-ms <number>', 'length of a lease; the other times follow it', wholeFrom(1_000, 60_000), 5_000)
    .option('--shards <number>', 'shards of the cluster', wholeFrom(1, 4_096), 64)
    .option('--json', 'print one JSON object and nothing else', false)
    .option('--keep', 'keep the folder with logs and records also after a good run', false);
  command.parse([...argv], { from: 'user' });
  const given = command.opts<Omit<ChaosOptions, 'seed'> & { seed?: number }>();
  return { ...given, seed: given.seed ?? Math.floor(Math.random() * 2 ** 31) };
}

function numberFrom(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isFinite(value) || value < low || value > high) {
      throw new InvalidArgumentError(`expected a number from ${low} to ${high}.`);
    }
    return value;
  };
}

function wholeFrom(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = numberFrom(low, high)(text);
    if (!Number.isInteger(value)) throw new InvalidArgumentError('expected a whole number.');
    return value;
  };
}

function readKinds(text: string): FaultKind[] {
  return text.split(',').map((part) => {
    const kind = FAULT_KINDS.find((known) => known === part.trim());
    if (kind === undefined) throw new InvalidArgumentError(`expected some of ${FAULT_KINDS.join(', ')}.`);
    return kind;
  });
}
