// The depth of work in a chain of work. A client's message has depth 0; a message that one of our deliveries creates by
// calling the API, and a callback about it, are one deeper. So a schedule that triggers itself ends, however fast it
// is.

/** Work with a depth; without one it is 0. */
export interface HasDepth {
  readonly depth?: number;
}

export function depthOf(work: HasDepth): number {
  return work.depth ?? 0;
}

/** Returns the depth as it is stored: most work has none. */
export function withDepth(depth: number): HasDepth {
  return depth > 0 ? { depth } : {};
}

/** Returns why work of this depth is refused; null when it is allowed. */
export function depthRefusal(depth: number, max: number): string | null {
  if (depth <= max) return null;
  return `depth ${depth} is beyond ${max} (CARILLON_DEPTH_MAX): it was made by a delivery that was made by a delivery, and so on, as in a loop`;
}
