// Counts lags in buckets that grow by a tenth each, so that the lags of several nodes can be added and percentiles read
// with a precision of a tenth.

const GROWTH = Math.log(1.1);
/** The last bucket starts beyond a day. */
const BUCKETS = 200;

/** The counts of a period. */
export class LagBuckets {
  readonly #counts = new Float64Array(BUCKETS);

  add(lagMs: number): void {
    const bucket = bucketOf(lagMs);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  /** Returns and resets the counts: bucket, count, bucket, count, … */
  take(): number[] {
    const pairs: number[] = [];
    this.#counts.forEach((count, bucket) => {
      if (count > 0) pairs.push(bucket, count);
    });
    this.#counts.fill(0);
    return pairs;
  }
}

function bucketOf(lagMs: number): number {
  if (lagMs < 1) return 0;
  return Math.min(BUCKETS - 1, 1 + Math.floor(Math.log(lagMs) / GROWTH));
}

/**
 * Returns the lag below which this part (0 to 1) of all lags is; null when there is none. `taken` are results of
 * `take`.
 */
export function lagPercentile(taken: readonly (readonly number[])[], part: number): number | null {
  const counts = new Float64Array(BUCKETS);
  for (const pairs of taken) {
    for (let index = 0; index + 1 < pairs.length; index += 2) {
      const bucket = Math.min(BUCKETS - 1, Math.max(0, pairs[index] ?? 0));
      counts[bucket] = (counts[bucket] ?? 0) + (pairs[index + 1] ?? 0);
    }
  }
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  const bucket = counts.findIndex((count) => (seen += count) >= part * total);
  return bucket <= 0 ? 0 : round(Math.exp((bucket - 0.5) * GROWTH));
}

const round = (lagMs: number): number => (lagMs < 10 ? Math.round(lagMs * 10) / 10 : Math.round(lagMs));
