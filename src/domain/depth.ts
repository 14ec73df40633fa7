// How deep work lies in a chain of work that made it. A message that a client sends has depth 0; what a delivery of ours makes by calling the
// API again, and what reports on it, is one deeper. So a schedule that triggers itself ends, however fast it is.

/** What has a depth; without one it is 0. */
export interface HasDepth {
  readonly depth?: number;
}

export function depthOf(work: HasDepth): number {
  return work.depth ?? 0;
}

/** The depth as it is kept: most work has none. */
export function withDepth(depth: number): HasDepth {
  return depth > 0 ? { depth } : {};
}

/** Why work of this depth is refused; null when it may be. */
export function depthRefusal(depth: number, max: number): string | null {
  if (depth <= max) return null;
  return `depth ${depth} is beyond ${max} (CARILLON_DEPTH_MAX): it was made by a delivery that was made by a delivery, and so on, as in a loop`;
}
