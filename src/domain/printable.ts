// Text for a terminal, of which nobody knows who wrote it: what steers terminals, or turns the direction of writing, is shown and not obeyed.

/**
 * Controls (C0, DEL, C1), format characters (marks and overrides of direction, tags, byte order marks), line and paragraph separators, and halves
 * of surrogate pairs; not tab and line feed, nor the two joiners, which writing needs and which steer nothing.
 */
const UNPRINTABLE = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Returns the text with a replacement character in place of each that a terminal would obey; tabs and line feeds stay. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, '\ufffd');
}

/** Returns JSON in which the same characters are escaped; whoever reads it gets the same value. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, index) => escaped(character.charCodeAt(index))).join(''),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
