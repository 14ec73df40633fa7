/** Every way in which two courses of steps can interleave. */

/** Every way to merge two sequences, each in its own order. */
function merges<Step>(a: readonly Step[], b: readonly Step[]): Step[][] {
  const [firstOfA, ...restOfA] = a;
  const [firstOfB, ...restOfB] = b;
  if (firstOfA === undefined) return [[...b]];
  if (firstOfB === undefined) return [[...a]];
  return [
    ...merges(restOfA, b).map((rest) => [firstOfA, ...rest]),
    ...merges(a, restOfB).map((rest) => [firstOfB, ...rest]),
  ];
}

/** The merges with their names, for `it.each`. */
export function orders<Step extends string>(a: readonly Step[], b: readonly Step[]): [name: string, steps: Step[]][] {
  return merges(a, b).map((steps) => [steps.join(', '), steps]);
}
