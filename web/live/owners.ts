// Which letter, colour and pattern stands for a node. A name keeps its own while the page is open, whoever comes and goes.

/** Colours in tokens.css; patterns in cluster.css. */
const OWNER_COLOURS = 8;
const PATTERNS = 6;

export interface NodeColor {
  /** A, B, … Z, AA … */
  readonly letter: string;
  readonly colour: number;
  readonly pattern: number;
}

const placeOf = new Map<string, number>();

/** Gives names their places, in this order where they are new. */
export function meet(names: readonly string[]): void {
  for (const name of [...names].sort(byNumber)) if (!placeOf.has(name)) placeOf.set(name, placeOf.size);
}

/** node-2 before node-10. */
export function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

export function colorOf(name: string): NodeColor {
  meet([name]);
  const place = placeOf.get(name) ?? 0;
  return { letter: deadLetters(place), colour: place % OWNER_COLOURS, pattern: place % PATTERNS };
}

/** A node's id is its name and a random end. */
export function nameOf(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf('-')));
}

function deadLetters(place: number): string {
  const last = String.fromCharCode(65 + (place % 26));
  return place < 26 ? last : deadLetters(Math.floor(place / 26) - 1) + last;
}
