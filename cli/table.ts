/** Tables that fit the terminal: cells that may be cut end with "…", and where even that is not enough, columns go. */
import { cut, oneLine, pad, widthOf } from './text.js';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly align?: 'left' | 'right';
  /** May be cut down to so many columns. Without it the cells are shown whole. */
  readonly min?: number;
  /** May be left out when the terminal is too narrow, the lowest first; also left out when all cells are empty. */
  readonly drop?: number;
  readonly paint?: (cell: string) => string;
}

const GAP = '  ';

interface Shown<Row> {
  readonly column: Column<Row>;
  readonly cells: readonly string[];
  width: number;
  readonly min: number;
}

/** The lines of a table, each ended; `width` null is without bounds. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number | null): string {
  const all = columns.map((column) => measured(column, rows, width)).filter((shown) => !isEmpty(shown));
  const shown = width === null ? all : fitted(all, width);
  const line = (texts: readonly string[], paint: boolean): string =>
    shown
      .map(({ column, width: columnWidth }, index) => {
        const isLast = index === shown.length - 1;
        const text = cut(texts[index] ?? '', columnWidth);
        const padded = isLast && column.align !== 'right' ? text : pad(text, columnWidth, column.align ?? 'left');
        return paint && column.paint !== undefined ? column.paint(padded) : padded;
      })
      .join(GAP)
      .trimEnd();
  const header = line(
    shown.map(({ column }) => column.title),
    false,
  );
  const body = rows.map((_, row) =>
    line(
      shown.map(({ cells }) => cells[row] ?? ''),
      true,
    ),
  );
  return [header, ...body].map((text) => `${text}\n`).join('');
}

/** Names and values, one below the other; long values go on in further lines. Empty ones are left out. */
export function fields(pairs: readonly (readonly [name: string, value: string | number | undefined])[]): string {
  const given = pairs.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, oneLine(String(value))] as const],
  );
  const width = Math.max(0, ...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

function measured<Row>(column: Column<Row>, rows: readonly Row[], width: number | null): Shown<Row> {
  const cells = rows.map((row) => oneLine(column.cell(row)));
  const natural = Math.max(widthOf(column.title), ...cells.map(widthOf));
  // No column can be wider than the terminal, so a very long cell need not be shrunk step by step.
  const bounded = column.min === undefined || width === null ? natural : Math.min(natural, width);
  return { column, cells, width: bounded, min: Math.min(bounded, column.min ?? bounded) };
}

function isEmpty<Row>({ column, cells }: Shown<Row>): boolean {
  return column.drop !== undefined && cells.length > 0 && cells.every((cell) => cell === '');
}

function fitted<Row>(all: readonly Shown<Row>[], width: number): Shown<Row>[] {
  let shown = [...all];
  const taken = (pick: (column: Shown<Row>) => number): number =>
    shown.reduce((sum, column) => sum + pick(column), GAP.length * (shown.length - 1));
  while (taken(({ min }) => min) > width) {
    const weakest = Math.min(...shown.map(({ column }) => column.drop ?? Infinity));
    if (weakest === Infinity) break;
    shown = shown.filter(({ column }) => column.drop !== weakest);
  }
  while (taken((column) => column.width) > width) {
    const widest = shown.filter((column) => column.width > column.min).sort((a, b) => b.width - a.width)[0];
    if (widest === undefined) break;
    widest.width -= 1;
  }
  return shown;
}
