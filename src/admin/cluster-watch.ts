// Collects the state of the whole cluster while the console is open on this node: subscribes to the reports of all
// nodes, keeps the snapshot, and sends changes to its viewers. Without viewers it subscribes to nothing and has no
// timer.

import type { Logger } from 'pino';
import type { Cancel, Clock, ProcessTime } from '../domain/clock.js';
import { deltaOf, toldPicture } from './delta.js';
import {
  EVENTS_KEPT,
  HISTORY_KEPT,
  PROTOCOL_VERSION,
  type ClusterEvent,
  type ClusterFacts,
  type Picture,
  type Rates,
  type Snapshot,
} from './protocol.js';
import type { ReportedStats, NodeReport, ShardLevel, Watch } from './node-report.js';
import type { RosterFacts } from './roster-facts.js';
import { ShardMap } from './shard-map.js';
import { buildPicture, buildRates, type Heard } from './snapshot.js';
import type { StoreProbe } from './store-probe.js';

const TICK_MS = 250;
const TICKS_A_SECOND = 4;
/** Changes of state are published this soon after they happened. */
const SOON_MS = 100;
const TICKS_A_WATCH = 8;
const TICKS_A_PROBE = 20;
/** Kept this long for a viewer who reloads the page. */
const LINGER_MS = 10_000;
/** How long a first viewer waits at most for the reports of all nodes. */
const FIRST_WAIT_MS = 600;
/** A node that was blocked for this long still has reports to read, and judges no other node for a moment. */
const HELD_UP_MS = 200;
const HELD_UP_PAUSE_MS = 500;
/** An event that several nodes observe is published once. */
const SAME_NODE_EVENT_MS = 15_000;

/** A viewer of the snapshot. `text` is JSON, the same bytes for all. */
export interface Viewer {
  send(text: Buffer): void;
}

interface WatchParts {
  readonly cluster: ClusterFacts;
  readonly clock: Clock;
  readonly time: ProcessTime;
  readonly log: Logger;
  readonly probe: StoreProbe;
  /** Publishes to all nodes, including this one, that this node has viewers. */
  readonly ask: (watch: Watch) => void;
  /** Subscribes to or unsubscribes from the reports of nodes. Does not fail. */
  readonly listen: (on: boolean) => Promise<void>;
  /** Reads how much work is in the queues of shards without an owner. */
  readonly readLevels: (shards: readonly number[]) => Promise<readonly ShardLevel[]>;
}

interface NodeHeard {
  heardAtMs: number;
  report: ReportedStats | null;
  reportAtMs: number;
}

export class ClusterWatch {
  readonly #parts: WatchParts;
  readonly #viewers = new Set<Viewer>();
  readonly #heard = new Map<string, NodeHeard>();
  readonly #levels: (ShardLevel | undefined)[] = [];
  #map: ShardMap;
  #roster: RosterFacts = { members: [], owners: [] };
  #rosterAtMs = 0;
  #history: readonly Rates[] = [];
  #events: readonly ClusterEvent[] = [];
  #seq = 0;
  #told: Picture | null = null;
  #snapshot: { seq: number; text: Buffer } | null = null;
  #ticks = 0;
  #judgesFromMs = 0;
  #cancel: Cancel | null = null;
  #soon: Cancel | null = null;
  #lingersUntilMs = Infinity;
  /** Resolves when there is enough to show to the first viewer. */
  #ready: Promise<void> = Promise.resolve();
  #isReady: () => void = () => undefined;
  #stopped = false;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#map = this.#newMap();
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** Sends the snapshot to a new viewer, who receives all later changes. */
  async join(viewer: Viewer): Promise<void> {
    if (this.#stopped) return;
    this.#viewers.add(viewer);
    this.#lingersUntilMs = Infinity;
    if (this.#cancel === null) this.#begin();
    await this.#ready;
    if (this.#viewers.has(viewer)) this.resync(viewer);
  }

  leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return;
    this.#lingersUntilMs = this.#parts.time.monotonicMs() + LINGER_MS;
  }

  /** Sends the complete snapshot again. */
  resync(viewer: Viewer): void {
    const seq = this.#seq;
    if (this.#snapshot?.seq !== seq) {
      const picture = (this.#told ??= this.#picture());
      const snapshot: Snapshot = { type: 'snapshot', protocol: PROTOCOL_VERSION, seq, picture };
      this.#snapshot = { seq, text: Buffer.from(JSON.stringify(snapshot)) };
    }
    viewer.send(this.#snapshot.text);
  }

  /** Called when this node's heartbeat read the roster. */
  rosterRead(roster: RosterFacts): void {
    this.#roster = roster;
    this.#rosterAtMs = this.#parts.time.monotonicMs();
    if (this.#cancel !== null) this.#map.seen(roster, this.#rosterAtMs);
  }

  /** Called when an event happened, here or on another node. */
  happened(event: ClusterEvent): void {
    if (this.#cancel === null || this.#isKnown(event)) return;
    this.#map.apply(event, this.#parts.time.monotonicMs());
    this.#events = [...this.#events, event].sort((a, b) => a.atMs - b.atMs).slice(-EVENTS_KEPT);
    if (event.kind === 'lapsed') {
      // Its shards may have other owners a moment later; they are shown without an owner first.
      this.#publish(false);
      return;
    }
    this.#soon ??= this.#parts.time.after(SOON_MS, () => {
      this.#soon = null;
      if (this.#cancel !== null) this.#safely(() => this.#publish(false));
    });
  }

  /** Called when a node published a report, which may be from another version. */
  receive(report: NodeReport): void {
    if (this.#cancel !== null) this.#safely(() => this.#receive(report));
  }

  #receive(report: NodeReport): void {
    const nowMs = this.#parts.time.monotonicMs();
    const heard = this.#heard.get(report.node) ?? { heardAtMs: nowMs, report: null, reportAtMs: nowMs };
    heard.heardAtMs = nowMs;
    if (report.figures !== undefined) {
      heard.report = report.figures;
      heard.reportAtMs = nowMs;
    }
    this.#heard.set(report.node, heard);
    for (const event of report.events ?? []) this.happened(event);
    this.#learn(report.levels ?? []);
    if (this.#roster.members.every(({ id }) => (this.#heard.get(id)?.report ?? null) !== null)) this.#isReady();
  }

  stop(): void {
    this.#stopped = true;
    this.#viewers.clear();
    if (this.#cancel !== null) this.#end();
  }

  #newMap(): ShardMap {
    return new ShardMap(this.#parts.cluster.shards, this.#parts.cluster.leaseMs);
  }

  #begin(): void {
    const { listen, ask, cluster, time } = this.#parts;
    this.#map = this.#newMap();
    this.#map.seen(this.#roster, time.monotonicMs());
    this.#told = null;
    this.#snapshot = null;
    this.#ticks = 0;
    this.#ready = new Promise((resolve) => (this.#isReady = resolve));
    time.after(FIRST_WAIT_MS, this.#isReady);
    this.#later();
    // A request before the subscription would miss reports that are published once.
    void listen(true).then(() => ask({ by: cluster.servedBy, fresh: true }));
    this.#probe();
  }

  #end(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#soon?.();
    this.#soon = null;
    void this.#parts.listen(false);
    this.#heard.clear();
    this.#levels.length = 0;
    this.#history = [];
    this.#events = [];
    this.#isReady();
  }

  #later(): void {
    const { time } = this.#parts;
    const dueAtMs = time.monotonicMs() + TICK_MS;
    this.#cancel = time.after(TICK_MS, () => {
      const nowMs = time.monotonicMs();
      if (nowMs - dueAtMs > HELD_UP_MS) this.#judgesFromMs = nowMs + HELD_UP_PAUSE_MS;
      this.#later();
      this.#safely(() => this.#tick(nowMs));
    });
  }

  #tick(nowMs: number): void {
    const { ask, cluster, clock } = this.#parts;
    if (nowMs > this.#lingersUntilMs) {
      this.#end();
      return;
    }
    this.#ticks += 1;
    if (this.#ticks % TICKS_A_WATCH === 0) ask({ by: cluster.servedBy, fresh: false });
    if (this.#ticks % TICKS_A_PROBE === 0) this.#probe();
    const whole = this.#ticks % TICKS_A_SECOND === 0;
    if (whole) {
      void this.#readUnowned();
      this.#history = [...this.#history, buildRates(clock.nowMs(), this.#heardAt(nowMs))].slice(-HISTORY_KEPT);
    }
    this.#publish(whole);
  }

  #publish(whole: boolean): void {
    const before = this.#told;
    if (before === null) return;
    const after = this.#picture();
    const delta = deltaOf(before, after, this.#seq + 1, whole);
    if (delta === null) return;
    this.#seq += 1;
    this.#told = toldPicture(before, after, whole);
    const text = Buffer.from(JSON.stringify(delta));
    for (const viewer of this.#viewers) viewer.send(text);
  }

  #picture(): Picture {
    const { clock, cluster, time, probe } = this.#parts;
    const nowMs = time.monotonicMs();
    return buildPicture({
      atMs: clock.nowMs(),
      cluster,
      members: this.#roster.members,
      rosterAgeMs: nowMs - this.#rosterAtMs,
      heard: this.#heardAt(nowMs),
      shards: this.#map.pictures(),
      levels: this.#levels,
      history: this.#history,
      events: this.#events,
      stores: probe.stores,
      mayJudge: probe.stores.queueUp && nowMs >= this.#judgesFromMs,
    });
  }

  #heardAt(nowMs: number): ReadonlyMap<string, Heard> {
    for (const [id, { heardAtMs: pulseAtMs }] of this.#heard) if (nowMs - pulseAtMs > 60_000) this.#heard.delete(id);
    return new Map(
      [...this.#heard].map(([id, { heardAtMs: pulseAtMs, report, reportAtMs }]) => [
        id,
        { heardAgeMs: nowMs - pulseAtMs, report, reportAgeMs: nowMs - reportAtMs },
      ]),
    );
  }

  #learn(levels: readonly ShardLevel[]): void {
    for (const level of levels) {
      if (!(level.shard >= 0 && level.shard < this.#parts.cluster.shards)) continue;
      this.#levels[level.shard] = level;
      this.#map.installed(level.shard, level.epoch);
    }
  }

  async #readUnowned(): Promise<void> {
    const shards = this.#map.unowned();
    if (shards.length === 0) return;
    try {
      this.#learn(await this.#parts.readLevels(shards));
    } catch {
      // Redis is unavailable, and the snapshot shows it.
    }
  }

  #probe(): void {
    this.#parts.probe
      .measure()
      .catch((error: unknown) => this.#parts.log.warn({ err: error }, 'a probe of the stores failed'));
  }

  /** Logs errors of the console, which do not affect the node. */
  #safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#parts.log.error({ err: error }, 'the console failed');
    }
  }

  /**
   * Returns whether an event was published already: all nodes observe joining and leaving nodes, at slightly different
   * times.
   */
  #isKnown(event: ClusterEvent): boolean {
    return this.#events.some((known) => {
      if (known.id === event.id) return true;
      if (!('name' in event) || !('name' in known)) return false;
      return (
        known.kind === event.kind && known.node === event.node && Math.abs(known.atMs - event.atMs) < SAME_NODE_EVENT_MS
      );
    });
  }
}
