// What the admin websocket says, in both directions: the picture of the cluster, how it changes, and why a socket is closed. The page imports
// this file too, so it imports nothing. docs/admin-protocol.md tells it in words.

/** Raised when a message changes its meaning. New members may appear without it: readers ignore what they do not know. */
export const PROTOCOL_VERSION = 1;

/** Most events that a picture remembers; the oldest go first. */
export const EVENTS_KEPT = 200;
/** Most seconds of rates that a picture remembers. */
export const HISTORY_KEPT = 300;

// ---- what a client says -------------------------------------------------------------------------------------------------------------

export type ClientMessage = Hello | Resync;

/** The first message, unless the upgrade had an Authorization header: an administrator's token. */
export interface Hello {
  readonly type: 'hello';
  readonly token: string;
}

/** Asks for a whole picture again: a delta's `seq` was not the one that was expected. */
export interface Resync {
  readonly type: 'resync';
}

// ---- what a node says ---------------------------------------------------------------------------------------------------------------

export type ServerMessage = Snapshot | Delta;

/** The whole picture, sent when a client was let in and when it asked again. */
export interface Snapshot {
  readonly type: 'snapshot';
  readonly protocol: number;
  /** The next delta has `seq` + 1. */
  readonly seq: number;
  readonly picture: Picture;
}

/** What changed. At least one each second, so that silence means a broken connection. A member that is absent did not change. */
export interface Delta {
  readonly type: 'delta';
  /** One more than that of the message before it. */
  readonly seq: number;
  /** Now, by the cluster's clock. */
  readonly atMs: number;
  /** Nodes that are new or changed, whole. */
  readonly nodes?: readonly NodePicture[];
  /** Ids of nodes that are gone. */
  readonly gone?: readonly string[];
  /** Shards whose owner, epoch or state changed, whole. */
  readonly shards?: readonly ShardPicture[];
  /** The figures of all shards. */
  readonly levels?: ShardLevels;
  /** One second's rates, to be put at the end of `history`. */
  readonly rates?: Rates;
  readonly sweeps?: SweepsPicture;
  readonly stores?: StoresPicture;
  /** New events, the oldest first. */
  readonly events?: readonly ClusterEvent[];
}

// ---- the picture --------------------------------------------------------------------------------------------------------------------

export interface Picture {
  /** Now, by the cluster's clock (Redis's), in epoch ms. All other times of the picture are of the same clock. */
  readonly atMs: number;
  readonly cluster: ClusterFacts;
  /** In the order of their ids. */
  readonly nodes: readonly NodePicture[];
  /** By shard number. */
  readonly shards: readonly ShardPicture[];
  readonly levels: ShardLevels;
  /** The last seconds' rates, the oldest first, as far back as this node was asked for them. The last one is the present. */
  readonly history: readonly Rates[];
  readonly sweeps: SweepsPicture;
  readonly stores: StoresPicture;
  /** The oldest first. */
  readonly events: readonly ClusterEvent[];
}

/** What does not change while a node runs. */
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
 * `joining`: it has no shards yet and does not count for new ones. `active`: it works. `draining`: it gives its shards away.
 * `suspect`: nothing was heard of it for longer than it should take. `unable`: it says itself that a store is out of its reach.
 */
export type NodeState = 'joining' | 'active' | 'draining' | 'suspect' | 'unable';

export interface NodePicture {
  /** Of this process alone: its name and a random end. */
  readonly id: string;
  readonly name: string;
  readonly state: NodeState;
  readonly uptimeMs: number;
  /** When it was heard of last. Its heartbeat's age is the picture's `atMs` minus this. */
  readonly heardAtMs: number;
  /** How many shards it owns. */
  readonly shards: number;
  /** Null until it was asked for its figures, which takes less than a second. */
  readonly load: NodeLoad | null;
}

export interface NodeLoad {
  /** Deliveries and firings under way. */
  readonly inFlight: number;
  /** Most deliveries at once. */
  readonly capacity: number;
  /** Attempts that ended in the last second, whatever came of them. */
  readonly deliveriesPerS: number;
  /** Of the process, in bytes. */
  readonly memoryBytes: number;
  /** Part of one core that the process uses, 0 to 1 or more. */
  readonly cpu: number;
  /** How long the event loop made timers wait at most in the last second. */
  readonly loopDelayMs: number;
}

/** `moving`: its owner gave it and nobody took it yet. `orphaned`: its owner is gone, or it never had one. */
export type ShardState = 'owned' | 'moving' | 'orphaned';

export interface ShardPicture {
  readonly shard: number;
  /** The owning node's id; the last one's while it moves; null when it is orphaned. */
  readonly owner: string | null;
  /** Raised at each change of owner. 0 while it is not known. */
  readonly epoch: number;
  readonly state: ShardState;
}

/** Columns: the figure of shard n stands at place n. */
export interface ShardLevels {
  /** Entries of Redis whose time has come and that nobody claimed yet. */
  readonly due: readonly number[];
  /** Entries in Redis that wait for their time, those that are due included. */
  readonly queued: readonly number[];
  /** Entries that are claimed: being delivered, or fired. */
  readonly inFlight: readonly number[];
  /** By how much the earliest due entry is late; 0 when nothing is due. */
  readonly lagMs: readonly number[];
}

/** What the cluster did in one second. */
export interface Rates {
  readonly atMs: number;
  /** Attempts by what they came to, a second. `superseded`: its message had ended otherwise by then. */
  readonly delivered: number;
  readonly retried: number;
  readonly failed: number;
  readonly superseded: number;
  /** Occurrences of schedules that were published and skipped, a second. */
  readonly fired: number;
  readonly skipped: number;
  /** Messages that were accepted from clients, a second. */
  readonly accepted: number;
  /** Start of first attempts minus their due time; null when there was none. Within 10 %. */
  readonly lagP50Ms: number | null;
  readonly lagP99Ms: number | null;
}

export interface SweepsPicture {
  readonly promote: SweepPicture;
  readonly rescue: SweepPicture;
  /** Sweeps of a shard that wait for their turn or are under way, in all nodes. */
  readonly backlog: number;
  /** The least of all shards' horizons: everything due before it is in Redis. 0 when a shard's is lost and is being filled again. */
  readonly completedHorizonAtMs: number;
  /** The least of all shards' announced horizons. */
  readonly announcedHorizonAtMs: number;
}

/** Of all nodes, since each of them began. */
export interface SweepPicture {
  /** When one ended last; null when none did. */
  readonly lastAtMs: number | null;
  /** Rows that the last one put into Redis. */
  readonly lastQueued: number;
  /** When one that had something to put into Redis ended last, and how many rows it put there. */
  readonly lastMovedAtMs: number | null;
  readonly lastMoved: number;
  readonly runs: number;
  readonly failures: number;
  /** Rows that all of them put into Redis. */
  readonly queued: number;
}

export interface StoresPicture {
  /** PostgreSQL. */
  readonly table: StorePicture & {
    /** Items in the recorders of all nodes that are not committed yet. */
    readonly backlog: number;
  };
  /** Redis, with the data of Redis. */
  readonly queue: StorePicture & {
    /** Entries that wait to be offered to Redis, and those beyond the bound, which sweeps will find. */
    readonly offersWaiting: number;
    readonly offersLeftToSweeps: number;
    /** Null where it is not known. */
    readonly memoryBytes: number | null;
    readonly memoryMaxBytes: number | null;
  };
}

export interface StorePicture {
  /** Whether the answering node can work with it. */
  readonly isUp: boolean;
  /** Names of the nodes that cannot. */
  readonly awayFor: readonly string[];
  /** A round trip from the answering node, lately; null when there was no answer. */
  readonly roundTripMs: number | null;
}

// ---- events -------------------------------------------------------------------------------------------------------------------------

/** `id` is of this event alone. */
export type ClusterEvent = { readonly id: string; readonly atMs: number } & (
  NodeEvent | MovedEvent | ShardsEvent | SweptEvent
);

/** `joined`: it is on the roster. `draining`: it began to give its shards away. `left`: it said goodbye. `lapsed`: it was not heard of for a lease. */
export interface NodeEvent {
  readonly kind: 'joined' | 'draining' | 'left' | 'lapsed';
  /** The node's id and name. */
  readonly node: string;
  readonly name: string;
}

/** A node took shards. */
export interface MovedEvent {
  readonly kind: 'moved';
  readonly shards: readonly number[];
  /** The owner's id before, where all had the same and it is known. */
  readonly from: string | null;
  readonly to: string;
  /** From its locks to running actors. */
  readonly durationMs: number;
}

/** `given`: a node handed shards over. `fenced`: it found out that they have another owner. `leasesLapsed`: it could not keep their leases. */
export interface ShardsEvent {
  readonly kind: 'given' | 'fenced' | 'leasesLapsed';
  readonly shards: readonly number[];
  readonly node: string;
}

/** Sweeps put rows into Redis; those of a second are one event. */
export interface SweptEvent {
  readonly kind: 'swept';
  readonly node: string;
  readonly sweep: 'promote' | 'rescue';
  readonly sweeps: number;
  readonly queued: number;
}

// ---- why a socket is closed ---------------------------------------------------------------------------------------------------------

/** The close codes that are Carillon's own, beside 1001 (the node stops), 1003 (binary), 1009 (too long) and 1013 (too many sockets). */
export const CLOSE = {
  /** Not JSON, no known type, or members that are missing or wrong. */
  badMessage: 4400,
  /** No token, or one that nobody has. */
  unauthorized: 4401,
  /** A tenant's token. */
  forbidden: 4403,
  /** The first message did not come in time. */
  helloTimeout: 4408,
  /** It read too slowly: what waited for it exceeded its bound. */
  tooSlow: 4413,
  /** It sent too many messages. */
  flood: 4429,
  /** The token could not be checked: PostgreSQL is unavailable. */
  unavailable: 4503,
} as const;

/** Whether a closed socket may be opened again as it was: what is wrong with its token or its messages stays wrong. */
export function mayReconnect(code: number): boolean {
  return code !== CLOSE.badMessage && code !== CLOSE.unauthorized && code !== CLOSE.forbidden && code !== 1003;
}

// ---- reading ------------------------------------------------------------------------------------------------------------------------

/** The picture after a delta. Whoever keeps pictures asks for a resync when `delta.seq` is not one more than that of the message before. */
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

/** What a node remembers from before may come after what happened since. */
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
