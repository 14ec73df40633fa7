/** Reads what stands behind `npm start --`: how many nodes, or one alone. */
import { parseArgs } from 'node:util';
import { StartError } from './start-error.js';

export interface StartArguments {
  /** How many nodes run. */
  readonly nodes: number;
  /** One node at the API's own address, with no load balancer before it. */
  readonly single: boolean;
}

const DEFAULT_NODES = 3;
/** More processes than this belong on several machines. */
const MAX_NODES = 32;

const USAGE = `npm start -- [--nodes N | --single]

  --nodes N   N nodes behind one address, from 1 to ${MAX_NODES}; default ${DEFAULT_NODES}
  --single    one node alone, without a load balancer`;

/** Throws a StartFault that names what is wrong and shows the usage. */
export function readArguments(argv: readonly string[]): StartArguments {
  const { nodes, single = false } = parse(argv);
  if (single) {
    if (nodes !== undefined) throw wrong('--single and --nodes exclude each other');
    return { nodes: 1, single };
  }
  const count = nodes === undefined ? DEFAULT_NODES : Number(nodes);
  if (!Number.isInteger(count) || count < 1 || count > MAX_NODES) {
    throw wrong(`--nodes is "${nodes}", expected a whole number from 1 to ${MAX_NODES}`);
  }
  return { nodes: count, single };
}

function parse(argv: readonly string[]): { nodes?: string | undefined; single?: boolean | undefined } {
  try {
    const options = { nodes: { type: 'string' }, single: { type: 'boolean' } } as const;
    return parseArgs({ args: [...argv], options }).values;
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function wrong(what: string): StartError {
  return new StartError(`${what}\n\n${USAGE}`);
}
