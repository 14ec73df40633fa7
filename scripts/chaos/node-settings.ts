/** The settings of the nodes of a chaos run: short times, so that tiers, sweeps and failovers all happen within minutes. */
import { SETTINGS } from '../../src/config.js';
import type { StoreUrls } from './paths.js';

export const TOKEN = 'chaos-token-0123456789';
export const ADMIN_TOKEN = 'chaos-admin-0123456789';

const SIGNING_KEYS = { current: 'sig_chaos_current', next: 'sig_chaos_next' };

export interface ClusterTimes {
  readonly leaseMs: number;
  readonly horizonMs: number;
  readonly promoteEveryMs: number;
  readonly immediateMs: number;
  readonly misfireGraceMs: number;
  /** Nothing that is due later than this from now may be in the queue: horizon, sweep period, margin, and a little for the clocks. */
  readonly queuedWithinMs: number;
}

/** A sweep moves the horizon further than it must (src/actor/sweeps/promote.ts). */
const SWEEP_MARGIN_MS = 60_000;
const SLACK_MS = 2_000;

/** All follow the lease. */
export function timesOf(leaseMs: number): ClusterTimes {
  const horizonMs = 10_000;
  const promoteEveryMs = 5_000;
  return {
    leaseMs,
    // Queued with its payload, without it, and, beyond 75 s, in the table only.
    immediateMs: 3_000,
    horizonMs,
    promoteEveryMs,
    queuedWithinMs: horizonMs + promoteEveryMs + SWEEP_MARGIN_MS + SLACK_MS,
    // Longer than any fault: no occurrence is skipped, so each one must be there.
    misfireGraceMs: Math.max(60_000, 12 * leaseMs),
  };
}

/** Environment variables of one node. */
export function nodeEnvironment(
  node: { readonly name: string; readonly port: number; readonly shards: number; readonly home: string },
  stores: StoreUrls,
  times: ClusterTimes,
): Record<string, string> {
  const { leaseMs } = times;
  const wanted: Record<string, string | number | boolean> = {
    CARILLON_HOME: node.home,
    CARILLON_NODE_NAME: node.name,
    CARILLON_PORT: node.port,
    CARILLON_SHARDS: node.shards,
    CARILLON_DATABASE_URL: stores.postgres,
    CARILLON_REDIS_URL: stores.redis,
    CARILLON_LOCK_REDIS_URLS: stores.locks.join(','),
    CARILLON_TOKEN: TOKEN,
    CARILLON_ADMIN_TOKEN: ADMIN_TOKEN,
    CARILLON_CURRENT_SIGNING_KEY: SIGNING_KEYS.current,
    CARILLON_NEXT_SIGNING_KEY: SIGNING_KEYS.next,
    CARILLON_ALLOW_PRIVATE_DESTINATIONS: true,
    CARILLON_RETRY_DELAY_MIN_MS: 0,
    CARILLON_LEASE_MS: leaseMs,
    CARILLON_HEARTBEAT_MS: Math.round(leaseMs / 5),
    CARILLON_JOIN_GRACE_MS: Math.round(1.2 * leaseMs),
    CARILLON_VISIBILITY_MS: 3 * leaseMs,
    CARILLON_TOUCH_MS: leaseMs,
    CARILLON_IMMEDIATE_MS: times.immediateMs,
    CARILLON_HORIZON_MS: times.horizonMs,
    CARILLON_PROMOTE_EVERY_MS: times.promoteEveryMs,
    CARILLON_RESCUE_EVERY_MS: 10_000,
    CARILLON_MISFIRE_GRACE_MS: times.misfireGraceMs,
  };
  // A build that does not know a setting refuses to start with it.
  const known = Object.entries(wanted).filter(([name]) => name in SETTINGS);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}
