/** Reads a file line by line, without ever holding more than a line and a chunk of it. */
import { createReadStream, statSync } from 'node:fs';
import { usageError, type Io } from '../io.js';

/** As large as a batch request may be. */
const LINE_MAX_BYTES = 256 * 2 ** 20;
const LINE_FEED = 0x0a;

export interface Line {
  /** From 1. */
  readonly line: number;
  /** Null when the line is not UTF-8. */
  readonly text: string | null;
  /** How much of the file was read up to its end. */
  readonly bytes: number;
}

export interface LineSource {
  readonly totalBytes: number;
  readonly lines: AsyncIterable<Line>;
}

/** The lines of a file, or of the standard input for `-`. Throws a CliFault when it cannot be read. */
export async function readLines(file: string, io: Io): Promise<LineSource> {
  if (file === '-') {
    const input = await io.input();
    return { totalBytes: input.length, lines: split([input]) };
  }
  try {
    const totalBytes = statSync(file).size;
    return { totalBytes, lines: split(createReadStream(file, { highWaterMark: 256 * 1024 })) };
  } catch (error) {
    throw usageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function* split(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const whole = (parts: readonly Buffer[]): string | null => {
    try {
      return decoder.decode(parts.length === 1 ? parts[0] : Buffer.concat(parts)).replace(/\r$/, '');
    } catch {
      return null;
    }
  };
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let line = 0;
  let bytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      begun.push(chunk.subarray(from, end));
      bytes += begunBytes + end - from + 1;
      yield { line: ++line, text: whole(begun), bytes };
      begun = [];
      begunBytes = 0;
      from = end + 1;
    }
    begun.push(chunk.subarray(from));
    begunBytes += chunk.length - from;
    if (begunBytes > LINE_MAX_BYTES) throw usageError(`line ${line + 1} has more than ${LINE_MAX_BYTES} bytes`);
  }
  if (begunBytes > 0) yield { line: line + 1, text: whole(begun), bytes: bytes + begunBytes };
}
