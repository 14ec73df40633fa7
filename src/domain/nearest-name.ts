// Finds the known name that the author of an unknown name probably meant.

/** Returns the known name with the fewest edits from `name`; the first of several. `known` must not be empty. */
export function nearestName(name: string, known: readonly string[]): string {
  let best = known[0] ?? '';
  let bestDistance = Infinity;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** Returns the known name with the fewest edits from `name`, if those are at most `maxEdits`; otherwise null. */
export function nearestWithin(name: string, known: readonly string[], maxEdits: number): string | null {
  // The distance is at least the difference of the lengths, which saves most comparisons.
  const candidates = known.filter((candidate) => Math.abs(candidate.length - name.length) <= maxEdits);
  if (candidates.length === 0) return null;
  const nearest = nearestName(name, candidates);
  return editDistance(name, nearest) <= maxEdits ? nearest : null;
}

/** Returns Levenshtein's distance, computed row by row. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
