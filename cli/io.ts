/** What the command line client touches of the world: its two outputs, its input, the environment. Tests bring their own. */
import { once } from 'node:events';

export interface Io {
  /** To the standard output: the answer, and nothing else. */
  out(text: string): void;
  /** To the standard error output: faults, and remarks that must not get into a pipe. */
  err(text: string): void;
  /** Resolves when the standard output has taken what was written to it. */
  drained(): Promise<void>;
  /** Everything on the standard input. */
  input(): Promise<Buffer>;
  /** Width of the terminal; null when the standard output is none, and nothing is cut then. */
  readonly columns: number | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const MAX_INPUT_BYTES = 64 * 2 ** 20;

/** A fault that people can do something about: one line for them, and the exit code. */
export class CliError extends Error {
  constructor(
    message: string,
    /** 1: the API refused or cannot be reached. 2: the command line makes no sense. */
    readonly exitCode: 1 | 2,
    /** Whether the same may be done in a moment: Carillon is away, or says that it is. */
    readonly isPassing = false,
  ) {
    super(message);
  }
}

export function usageError(message: string): CliError {
  return new CliError(message, 2);
}

/** The world of this process. */
export function processIo(): Io {
  for (const stream of [process.stdout, process.stderr]) {
    // Whoever reads has enough (`| head`): that is no fault.
    stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  }
  return {
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    drained: async () => {
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
    },
    input: readInput,
    columns: process.stdout.isTTY ? process.stdout.columns : null,
    environment: process.env,
  };
}

async function readInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_INPUT_BYTES) throw usageError(`the standard input has more than ${MAX_INPUT_BYTES} bytes`);
  }
  return Buffer.concat(chunks);
}
