// The protocol of the admin websocket: the snapshot of the cluster, its changes, and why a socket is closed. The
// console imports this file too, so it imports nothing. docs/admin-protocol.md describes it.

/** Raised when a message changes its meaning. New members may appear without it: readers ignore unknown ones. */
export const PROTOCOL_VERSION = 1;

/** Most events in a snapshot; the oldest are dropped first. */
export const EVENTS_KEPT = 200;
/** Most seconds of rates in a snapshot. */
export const HISTORY_KEPT = 300;

// ---- messages of a client
// ------------------------------------------------------------------------------------------------------------

export type ClientMessage = Hello | Resync;

/** The first message, unless the upgrade had an Authorization header: an administrator's token. */
export interface Hello {
  readonly type: 'hello';
  readonly token: string;
}

/** Requests a complete snapshot again: the `seq` of a delta was not the expected one. */
export interface Resync {
  readonly type: 'resync';
}

// ---- messages of a node
// --------------------------------------------------------------------------------------------------------------

export type ServerMessage = Snapshot | Delta;

/** The complete snapshot, sent when a client was admitted and when it requests a resync. */
export interface Snapshot {
  readonly type: 'snapshot';
  readonly protocol: number;
  /** The next delta has `seq` + 1. */
  readonly seq: number;
  readonly picture: Picture;
}

/**
 * The changes. Sent at least once each second, so that silence means a broken connection. Absent members did not
 * change.
 */
export interface Delta {
  readonly type: 'delta';
  /** One more than that of the message before it. */
  readonly seq: number;
  /** Now, by the cluster's clock. */
  readonly atMs: number;
  /** New or changed nodes, complete. */
  readonly nodes?: readonly NodePicture[];
  /** Ids of nodes that left. */
  readonly gone?: readonly string[];
  /** Shards whose owner, epoch or state changed, complete. */
  readonly shards?: readonly ShardPicture[];
  /** The levels of all shards. */
  readonly levels?: ShardLevels;
  /** The rates of one second, to be appended to `history`. */
  readonly rates?: Rates;
  readonly sweeps?: SweepsPicture;
  readonly stores?: StoresPicture;
  /** New events, the oldest first. */
  readonly events?: readonly ClusterEvent[];
}

// ---- the snapshot
// -------------------------------------------------------------------------------------------------------------------

export interface Picture {
  /** Now, by the cluster's clock (Redis's), in epoch ms. All other times of the snapshot use the same clock. */
  readonly atMs: number;
  readonly cluster: ClusterFacts;
  /** In the order of their ids. */
  readonly nodes: readonly NodePicture[];
  /** By shard number. */
  readonly shards: readonly ShardPicture[];
  readonly levels: ShardLevels;
  /**
   * The rates of the last seconds, the oldest first, as far back as this node has them. The last one is the present.
   */
  readonly history: readonly Rates[];
  readonly sweeps: SweepsPicture;
  readonly stores: StoresPicture;
  /** The oldest first. */
  readonly events: readonly ClusterEvent[];
}

/** Facts that do not change while a node runs. */
export interface ClusterFacts {
  /** How many shards there are. */
  readonly shards: number;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** Carillon's version, of the answering node. */
  readonly version: string;
  /** The node that answers. */
  readonly servedBy: string;
}

/**
 * `joining`: it has no shards yet and is not eligible for new ones. `active`: it works. `draining`: it hands over its
 * shards. `suspect`: it was silent for longer than expected. `unable`: it reports that it cannot reach a store.
 */
export type NodeState = 'joining' | 'active' | 'draining' | 'suspect' | 'unable';

export interface NodePicture {
  /** Identifies this process: its name and a random suffix. */
  readonly id: string;
  readonly name: string;
  readonly state: NodeState;
  readonly uptimeMs: number;
  /** When its last sign of life arrived. Its heartbeat's age is the snapshot's `atMs` minus this. */
  readonly heardAtMs: number;
  /** How many shards it owns. */
  readonly shards: number;
  /** Null until it reported its load, which takes less than a second. */
  readonly load: NodeLoad | null;
}

export interface NodeLoad {
  /** Deliveries and firings in flight. */
  readonly inFlight: number;
  /** Most deliveries at a time. */
  readonly capacity: number;
  /** Attempts that ended in the last second, with any result. */
  readonly deliveriesPerS: number;
  /** Memory of the process, in bytes. */
  readonly memoryBytes: number;
  /** Part of one core that the process uses, 0 to 1 or more. */
  readonly cpu: number;
  /** The longest delay of timers by the event loop in the last second. */
  readonly loopDelayMs: number;
}

/**
 * `moving`: its owner handed it over and no node acquired it yet. `orphaned`: its owner is gone, or it never had one.
 */
export type ShardState = 'owned' | 'moving' | 'orphaned';

export interface ShardPicture {
  readonly shard: number;
  /** The owning node's id; the last one's while it moves; null when it is orphaned. */
  readonly owner: string | null;
  /** Raised at each change of owner. 0 while it is unknown. */
  readonly epoch: number;
  readonly state: ShardState;
}

/** Columns: index n is shard n. */
export interface ShardLevels {
  /** Entries that are due and not claimed. */
  readonly due: readonly number[];
  /** Entries that are not in flight, including those that are due. */
  readonly queued: readonly number[];
  /** Claimed entries: being delivered, or fired. */
  readonly inFlight: readonly number[];
  /** How late the earliest due entry is; 0 when nothing is due. */
  readonly lagMs: readonly number[];
}

/** The work of the cluster in one second. */
export interface Rates {
  readonly atMs: number;
  /** Attempts by result, per second. `superseded`: the message had ended otherwise by then. */
  readonly delivered: number;
  readonly retried: number;
  readonly failed: number;
  readonly superseded: number;
  /** Occurrences of schedules that were published and skipped, per second. */
  readonly fired: number;
  readonly skipped: number;
  /** Messages accepted from clients, per second. */
  readonly accepted: number;
  /** Start of first attempts minus their due time; null when there was none. Within 10 %. */
  readonly lagP50Ms: number | null;
  readonly lagP99Ms: number | null;
}

export interface SweepsPicture {
  readonly promote: SweepPicture;
  readonly rescue: SweepPicture;
  /** Sweeps of a shard that wait for their turn or are in progress, on all nodes. */
  readonly backlog: number;
  /**
   * The earliest horizon of all shards: everything due before it is in Redis. 0 while a lost shard is being refilled.
   */
  readonly completedHorizonAtMs: number;
  /** The earliest announced horizon of all shards. */
  readonly announcedHorizonAtMs: number;
}

/** Of all nodes, since each of them started. */
export interface SweepPicture {
  /** When one ended last; null when none did. */
  readonly lastAtMs: number | null;
  /** Rows that the last one queued. */
  readonly lastQueued: number;
  /** When one that queued rows ended last, and how many rows it queued. */
  readonly lastMovedAtMs: number | null;
  readonly lastMoved: number;
  readonly runs: number;
  readonly failures: number;
  /** Rows that all of them queued. */
  readonly queued: number;
}

export interface StoresPicture {
  /** PostgreSQL. */
  readonly table: StorePicture & {
    /** Items in the recorders of all nodes that are not committed yet. */
    readonly backlog: number;
  };
  /** Redis. */
  readonly queue: StorePicture & {
    /** Entries that wait for Redis, and those beyond the bound, which sweeps will find. */
    readonly offersWaiting: number;
    readonly offersLeftToSweeps: number;
    /** Null when it is unknown. */
    readonly memoryBytes: number | null;
    readonly memoryMaxBytes: number | null;
  };
}

export interface StorePicture {
  /** Whether the answering node can use it. */
  readonly isUp: boolean;
  /** Names of the nodes that cannot. */
  readonly awayFor: readonly string[];
  /** A recent round trip from the answering node; null when there was no answer. */
  readonly roundTripMs: number | null;
}

// ---- events
// -------------------------------------------------------------------------------------------------------------------------

/** `id` is unique to this event. */
export type ClusterEvent = { readonly id: string; readonly atMs: number } & (
  NodeEvent | MovedEvent | ShardsEvent | SweptEvent
);

/**
 * `joined`: it is on the roster. `draining`: it started to hand over its shards. `left`: it left in order. `lapsed`: it
 * was silent for a lease.
 */
export interface NodeEvent {
  readonly kind: 'joined' | 'draining' | 'left' | 'lapsed';
  /** The node's id and name. */
  readonly node: string;
  readonly name: string;
}

/** A node acquired shards. */
export interface MovedEvent {
  readonly kind: 'moved';
  readonly shards: readonly number[];
  /** The previous owner's id, when all had the same and it is known. */
  readonly from: string | null;
  readonly to: string;
  /** From acquiring the locks to running actors. */
  readonly durationMs: number;
}

/**
 * `given`: a node handed shards over. `fenced`: it found that they have another owner. `leasesLapsed`: its leases
 * expired.
 */
export interface ShardsEvent {
  readonly kind: 'given' | 'fenced' | 'leasesLapsed';
  readonly shards: readonly number[];
  readonly node: string;
}

/** Sweeps queued rows; those of a second are one event. */
export interface SweptEvent {
  readonly kind: 'swept';
  readonly node: string;
  readonly sweep: 'promote' | 'rescue';
  readonly sweeps: number;
  readonly queued: number;
}

// ---- why a socket is closed
// ---------------------------------------------------------------------------------------------------------

/**
 * Carillon's own close codes, in addition to 1001 (the node stops), 1003 (binary), 1009 (too long) and 1013 (too many
 * sockets).
 */
export const CLOSE = {
  /** Not JSON, no known type, or members that are missing or wrong. */
  badMessage: 4400,
  /** No token, or an unknown one. */
  unauthorized: 4401,
  /** A tenant's token. */
  forbidden: 4403,
  /** The first message did not arrive in time. */
  helloTimeout: 4408,
  /** It read too slowly: the data that waited for it exceeded its bound. */
  tooSlow: 4413,
  /** It sent too many messages. */
  flood: 4429,
  /** The token could not be checked: PostgreSQL is unavailable. */
  unavailable: 4503,
} as const;

/** Returns whether a closed socket may be opened again unchanged: an invalid token or message stays invalid. */
export function mayReconnect(code: number): boolean {
  return code !== CLOSE.badMessage && code !== CLOSE.unauthorized && code !== CLOSE.forbidden && code !== 1003;
}

// ---- reading
// ------------------------------------------------------------------------------------------------------------------------

/**
 * Returns the snapshot after a delta. The caller must request a resync when `delta.seq` is not one more than that of
 * the previous message.
 */
export function applyDelta(picture: Picture, delta: Delta): Picture {
  const { atMs, nodes = [], gone = [], shards = [], levels, rates, sweeps, stores, events = [] } = delta;
  return {
    ...picture,
    atMs,
    nodes: nodes.length === 0 && gone.length === 0 ? picture.nodes : changedNodes(picture.nodes, nodes, gone),
    shards: shards.length === 0 ? picture.shards : changedShards(picture.shards, shards),
    levels: levels ?? picture.levels,
    history: rates === undefined ? picture.history : [...picture.history, rates].slice(-HISTORY_KEPT),
    sweeps: sweeps ?? picture.sweeps,
    stores: stores ?? picture.stores,
    events: events.length === 0 ? picture.events : inOrder([...picture.events, ...events]).slice(-EVENTS_KEPT),
  };
}

/** Sorts events by time: stored events of a node may arrive after later ones. */
function inOrder(events: ClusterEvent[]): ClusterEvent[] {
  return events.sort((a, b) => a.atMs - b.atMs);
}

function changedNodes(
  before: readonly NodePicture[],
  changed: readonly NodePicture[],
  gone: readonly string[],
): NodePicture[] {
  const byId = new Map(before.map((node) => [node.id, node]));
  for (const id of gone) byId.delete(id);
  for (const node of changed) byId.set(node.id, node);
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

function changedShards(before: readonly ShardPicture[], changed: readonly ShardPicture[]): ShardPicture[] {
  const after = [...before];
  for (const shard of changed) after[shard.shard] = shard;
  return after;
}
