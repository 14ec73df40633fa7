// Makes text of unknown authors safe for a terminal: characters that control the terminal or change the direction of
// writing are shown, not executed.

/**
 * Controls (C0, DEL, C1), format characters (direction marks and overrides, tags, byte order marks), line and paragraph
 * separators, and halves of surrogate pairs. Excludes tab and line feed, and the two joiners, which some scripts need
 * and which control nothing.
 */
const UNPRINTABLE = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Returns the text with a replacement character in place of each control character; tabs and line feeds stay. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, '\ufffd');
}

/** Returns JSON in which the same characters are escaped; parsing it yields the same value. */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, index) => escaped(character.charCodeAt(index))).join(''),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
