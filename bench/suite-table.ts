/** The suite's table: each figure with what it is compared with, and whether it is what was promised. */
import { printTable } from './figures.js';
import { isKept, type Line } from './parts/part.js';

/** Prints the lines of each part under its name. */
export function printLines(parts: readonly (readonly [name: string, lines: readonly Line[]])[]): void {
  printTable(
    ['', 'figure', 'unit', 'ratio', 'to', 'promised', ''],
    parts.flatMap(([name, lines]) => [
      [name.toUpperCase(), '', '', '', '', '', ''],
      ...lines.map((line) => [
        `  ${line.what}`,
        line.value.toLocaleString('en', { maximumFractionDigits: 3 }),
        line.unit,
        line.ratio === undefined ? '' : line.ratio.toFixed(line.ratio < 0.1 ? 4 : 2),
        line.beside ?? '',
        promised(line),
        line.must === undefined ? '' : isKept(line.value, line.must) ? 'kept' : 'MISSED',
      ]),
    ]),
  );
}

function promised({ must }: Line): string {
  if (must === undefined) return '';
  const { atLeast, atMost } = must;
  return [atLeast === undefined ? '' : `≥ ${atLeast}`, atMost === undefined ? '' : `≤ ${atMost}`].join(' ').trim();
}
