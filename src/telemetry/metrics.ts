// A node's metrics for Prometheus: one registry for each node, and one method for each counted event.
//
// Callers are independent of Prometheus: compose passes these methods to the modules as their own callbacks.

import { Registry } from 'prom-client';
import { SKIP_KINDS, skipKind } from '../domain/occurrence.js';
import { ProcessMetrics } from './process-metrics.js';
import { SeriesMaker } from './series.js';
import type { Count } from './tallies.js';

/** Seconds; from a round of the event loop to a delay that alerts an operator. */
const LAG_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];
/** Seconds; the longest timeout of a delivery is 15 minutes by default. */
const DELIVERY_BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];
/** Seconds; operations of our own stores. */
const STORE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Seconds; from one fast read to many batches. */
const SWEEP_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Seconds; handovers of shards. */
const MOVE_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Up to the most rows of one group. */
const ROW_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500];

const OUTCOME = { label: 'outcome', values: ['delivered', 'retried', 'failed', 'superseded'] } as const;
const CLAIM = { label: 'result', values: ['some', 'none', 'refused'] } as const;
const REASON = { label: 'reason', values: SKIP_KINDS } as const;
const ACCEPT = { label: 'result', values: ['accepted', 'deduplicated', 'failed'] } as const;
const TIER = { label: 'tier', values: ['immediate', 'hot', 'cold'] } as const;
const AREA = { label: 'area', values: ['tenant', 'admin', 'node'] } as const;
const STATUS = { label: 'status', values: ['2xx', '3xx', '4xx', '5xx'] } as const;
const GROUP = { label: 'kind', values: ['accept', 'outcome', 'fire', 'message', 'schedule'] } as const;
const SWEEP = { label: 'sweep', values: ['promote', 'rescue'] } as const;
const SWEPT = { label: 'result', values: ['done', 'fenced', 'failed'] } as const;
const STORE = { label: 'store', values: ['table', 'queue'] } as const;

type Value<Of extends { readonly values: readonly string[] }> = Of['values'][number];

/** The counted facts of an attempt. */
export interface AttemptFacts {
  readonly message: { readonly dueAtMs: number };
  /** `pending`: a retry follows. */
  readonly state: 'pending' | 'delivered' | 'failed';
  /** From 1. */
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** A sweep of a shard that ended. */
export interface SweepFacts {
  readonly sweep: Value<typeof SWEEP>;
  readonly result: Value<typeof SWEPT>;
  readonly queued: number;
  readonly durationMs: number;
}

/** The values that are read at each scrape. */
export interface Levels {
  /** Deliveries and firings in flight. */
  inFlight(): number;
  freeSlots(): number;
  ownedShards(): number;
  /** Time since the oldest lease of an owned shard was confirmed; 0 without any. */
  leaseAgeMs(): number;
  isUp(store: Value<typeof STORE>): boolean;
  enqueuer(): { readonly waiting: number; readonly leftToSweeps: number };
  /** How far behind the last sweeps found Redis. */
  clockDifferenceMs(): number;
  sweepBehindMs(sweep: Value<typeof SWEEP>): number;
  /** Items that wait in the recorder or are being written. */
  recorderBacklog(kind: Value<typeof GROUP>): number;
}

export class NodeMetrics {
  readonly #registry = new Registry();
  readonly #series = new SeriesMaker(this.#registry);
  readonly #process = new ProcessMetrics(this.#registry);

  readonly #lag = this.#series.histogram(
    { name: 'carillon_delivery_lag_seconds', help: 'Start of the first attempt minus the due time' },
    LAG_BUCKETS,
  );
  readonly #deliveries = this.#series.counters(
    { name: 'carillon_deliveries_total', help: 'Attempts that were made and recorded, by what they came to' },
    OUTCOME,
  );
  readonly #deliveryDuration = this.#series.histogram(
    {
      name: 'carillon_delivery_duration_seconds',
      help: 'Duration of an attempt, from the call to the end of the answer',
    },
    DELIVERY_BUCKETS,
  );
  readonly #claims = this.#series.counters(
    { name: 'carillon_claims_total', help: 'Claims, by whether they returned entries or their epoch was refused' },
    CLAIM,
  );
  readonly #claimedEntries = this.#series.counter({
    name: 'carillon_claimed_entries_total',
    help: 'Entries that claims returned: messages and schedules that were due or whose claims had expired',
  });
  readonly #published = this.#series.counter({
    name: 'carillon_occurrences_published_total',
    help: 'Occurrences of schedules that were recorded as messages',
  });
  readonly #skipped = this.#series.counters(
    { name: 'carillon_occurrences_skipped_total', help: 'Records of occurrences that were skipped, by reason' },
    REASON,
  );
  readonly #accepts = this.#series.counters(
    { name: 'carillon_accepts_total', help: 'Messages that were to be accepted, by what became of them' },
    ACCEPT,
  );
  readonly #tiers = this.#series.counters(
    {
      name: 'carillon_accepts_by_tier_total',
      help: 'Messages that were accepted, by where they wait: immediate and hot ones in Redis, cold ones in PostgreSQL only',
    },
    TIER,
  );
  readonly #requests = this.#series.grid(
    { name: 'carillon_api_requests_total', help: 'API requests by part of the API and class of status' },
    AREA,
    STATUS,
  );
  readonly #requestDuration = this.#series.histograms(
    { name: 'carillon_api_request_duration_seconds', help: 'Duration of API requests by part of the API' },
    AREA,
    STORE_BUCKETS,
  );
  readonly #groupRows = this.#series.histograms(
    { name: 'carillon_recorder_group_rows', help: 'Items that the recorder wrote or read together, by kind' },
    GROUP,
    ROW_BUCKETS,
  );
  readonly #groupDuration = this.#series.histograms(
    {
      name: 'carillon_recorder_group_duration_seconds',
      help: 'Duration of a group of the recorder up to its commit, by kind',
    },
    GROUP,
    STORE_BUCKETS,
  );
  readonly #sweeps = this.#series.grid(
    { name: 'carillon_sweeps_total', help: 'Sweeps of a shard by name and by how they ended' },
    SWEEP,
    SWEPT,
  );
  readonly #sweepRows = this.#series.counters(
    { name: 'carillon_sweep_queued_rows_total', help: 'Rows that sweeps put into Redis, by name' },
    SWEEP,
  );
  readonly #sweepDuration = this.#series.histograms(
    { name: 'carillon_sweep_duration_seconds', help: 'Duration of a sweep of a shard, by name' },
    SWEEP,
    SWEEP_BUCKETS,
  );
  readonly #lapsed = this.#series.counter({
    name: 'carillon_leases_lapsed_total',
    help: 'Shards whose lease this node could not keep',
  });
  readonly #fenced = this.#series.counter({
    name: 'carillon_epochs_refused_total',
    help: 'Times that a shard turned out to have another owner',
  });
  readonly #taken = this.#series.counter({
    name: 'carillon_shards_taken_total',
    help: 'Shards that this node acquired',
  });
  readonly #given = this.#series.counter({
    name: 'carillon_shards_given_total',
    help: 'Shards that this node handed over',
  });
  readonly #acquireDuration = this.#series.histogram(
    {
      name: 'carillon_takeover_duration_seconds',
      help: 'Duration of acquiring shards, from the locks to running actors',
    },
    MOVE_BUCKETS,
  );
  readonly #handOverDuration = this.#series.histogram(
    {
      name: 'carillon_handover_duration_seconds',
      help: 'Duration of handing shards over, including deliveries in flight',
    },
    MOVE_BUCKETS,
  );

  /** `shards`: how many the cluster has. */
  constructor(shards: number) {
    this.#series.gauge({ name: 'carillon_shards', help: 'Shards of the cluster' }, () => shards);
  }

  /** Sets the source of the levels. Must be called once, before the first scrape. */
  watch(levels: Levels): void {
    const series = this.#series;
    series.gauge({ name: 'carillon_in_flight', help: 'Deliveries and firings in flight' }, () => levels.inFlight());
    series.gauge({ name: 'carillon_delivery_slots_free', help: 'Deliveries that could start at once' }, () =>
      levels.freeSlots(),
    );
    series.gauge({ name: 'carillon_shards_owned', help: 'Shards that this node owns' }, () => levels.ownedShards());
    series.gauge(
      { name: 'carillon_lease_age_seconds', help: 'Time since the oldest lease of an owned shard was confirmed' },
      () => levels.leaseAgeMs() / 1_000,
    );
    series.gauges({ name: 'carillon_store_up', help: 'Whether a store can be worked with' }, STORE, (store) =>
      levels.isUp(store) ? 1 : 0,
    );
    series.gauge(
      { name: 'carillon_offers_waiting', help: 'Entries that wait for Redis' },
      () => levels.enqueuer().waiting,
    );
    series.gauge(
      { name: 'carillon_offers_left_to_sweeps', help: 'Entries beyond the bound of those that wait: sweeps find them' },
      () => levels.enqueuer().leftToSweeps,
    );
    series.gauges(
      {
        name: 'carillon_sweep_behind_seconds',
        help: 'How far behind the last sweep found the worst shard: promote, short of the horizon; rescue, lateness of lost work',
      },
      SWEEP,
      (sweep) => levels.sweepBehindMs(sweep) / 1_000,
    );
    series.gauge(
      {
        name: 'carillon_clock_difference_seconds',
        help: 'By how much the clocks of Redis, PostgreSQL and this node differ',
      },
      () => levels.clockDifferenceMs() / 1_000,
    );
    series.gauges(
      { name: 'carillon_recorder_backlog', help: 'Items in the recorder that are not committed or read yet, by kind' },
      GROUP,
      (kind) => levels.recorderBacklog(kind),
    );
  }

  /** Counts a recorded attempt. `taken` is false when its message had ended otherwise by then. */
  attempted({ message, state, attempt, startedAtMs, endedAtMs }: AttemptFacts, taken: boolean): void {
    // An entry that was due by Redis's clock may not be due yet by this node's estimate of it.
    if (attempt === 1) this.#lag(Math.max(0, startedAtMs - message.dueAtMs) / 1_000);
    this.#deliveryDuration((endedAtMs - startedAtMs) / 1_000);
    this.#deliveries[taken ? (state === 'pending' ? 'retried' : state) : 'superseded']();
  }

  /** Counts a claim by its number of entries; null when its epoch was refused. */
  claimed(entries: number | null): void {
    this.#claims[entries === null ? 'refused' : entries > 0 ? 'some' : 'none']();
    this.#claimedEntries(entries ?? 0);
  }

  /** Counts a fired schedule. `skipped` are the reasons on the records of skipped occurrences. */
  fired(published: number, skipped: readonly string[]): void {
    this.#published(published);
    for (const reason of skipped) this.#skipped[skipKind(reason)]();
  }

  accepted(result: Value<typeof ACCEPT>, messages: number): void {
    this.#accepts[result](messages);
  }

  /** Counts accepted messages that were no duplicates, by tier. */
  acceptedInTier(tier: Value<typeof TIER>, messages: number): void {
    this.#tiers[tier](messages);
  }

  answered(area: Value<typeof AREA>, status: number, durationMs: number): void {
    const counts: Record<string, Count | undefined> = this.#requests[area];
    counts[`${Math.floor(status / 100)}xx`]?.();
    this.#requestDuration[area](durationMs / 1_000);
  }

  grouped(kind: Value<typeof GROUP>, rows: number, durationMs: number): void {
    this.#groupRows[kind](rows);
    this.#groupDuration[kind](durationMs / 1_000);
  }

  swept({ sweep, result, queued, durationMs }: SweepFacts): void {
    this.#sweeps[sweep][result]();
    this.#sweepRows[sweep](queued);
    this.#sweepDuration[sweep](durationMs / 1_000);
  }

  lapsed(shards: number): void {
    this.#lapsed(shards);
  }

  fenced(): void {
    this.#fenced();
  }

  taken(shards: number, durationMs: number): void {
    this.#taken(shards);
    this.#acquireDuration(durationMs / 1_000);
  }

  given(shards: number, durationMs: number): void {
    this.#given(shards);
    this.#handOverDuration(durationMs / 1_000);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Returns all metrics in Prometheus's text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  stop(): void {
    this.#process.stop();
  }
}
