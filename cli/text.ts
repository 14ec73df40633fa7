/** Text as a terminal shows it: how wide it is, how it is cut, and what it must not contain. */
import { printable } from '../src/domain/printable.js';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Shown two columns wide: East Asian wide characters and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** One line that is safe to show. */
export function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim());
}

/** Several lines that are safe to show. */
export function safeLines(text: string): string[] {
  return text.split(/\r\n|\n/).map((line) => printable(line.replaceAll('\t', '  ')));
}

/** Tag of a template: a line of its own, whatever line breaks its values have. */
export function line(texts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return `${String.raw({ raw: texts }, ...values.map((value) => oneLine(String(value))))}\n`;
}

/** Columns that a text takes. */
export function widthOf(text: string): number {
  // eslint-disable-next-line no-control-regex -- nearly all text is this, and counts itself
  if (/^[\u0000-\u007f]*$/.test(text)) return text.length;
  return graphemes(text).reduce((sum, grapheme) => sum + graphemeWidth(grapheme), 0);
}

/** The text in at most so many columns; what was cut ends with "…". */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = '';
  let left = width - 1;
  for (const grapheme of graphemes(text)) {
    left -= graphemeWidth(grapheme);
    if (left < 0) break;
    shown += grapheme;
  }
  return width > 0 ? `${shown}…` : '';
}

/** The text filled up with blanks, at its end or (`right`) before it. */
export function pad(text: string, width: number, side: 'left' | 'right'): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)));
  return side === 'right' ? blanks + text : text + blanks;
}

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

function graphemeWidth(grapheme: string): number {
  return WIDE.test(grapheme) ? 2 : 1;
}
