// Publishes the statistics of this node while the console is open anywhere in the cluster: four times a second a sign
// of life, once a second its numbers and the levels of its shards. Otherwise it publishes nothing and has no timer.

import type { Logger } from 'pino';
import type { Cancel, ProcessTime } from '../domain/clock.js';
import type { NodeEvents } from './node-events.js';
import type { NodeFigures } from './node-figures.js';
import type { ClusterEvent } from './protocol.js';
import type { ReportedStats, NodeReport, ShardLevel } from './node-report.js';

const REPORT_MS = 250;
const REPORTS_PER_STATS = 4;
/** A shorter period is not representative of a rate per second. */
const SHORTEST_REPORT_MS = 500;
/** Watchers announce themselves every two seconds. */
const ASKED_MS = 5_000;

/** The values that are read while somebody watches. */
export interface NodeLevels {
  inFlight(): number;
  readonly capacity: number;
  ownedShards(): readonly number[];
  sweepBacklog(): number;
  isTableUp(): boolean;
  isQueueUp(): boolean;
  tableBacklog(): number;
  enqueuer(): { readonly waiting: number; readonly leftToSweeps: number };
}

interface StatsPublisherPorts {
  readonly log: Logger;
  readonly node: string;
  readonly time: ProcessTime;
  readonly figures: NodeFigures;
  readonly events: NodeEvents;
  readonly levels: NodeLevels;
  /** Reads how much work is in these shards' queues. */
  readonly readLevels: (shards: readonly number[]) => Promise<readonly ShardLevel[]>;
  /** Publishes to all nodes, including this one. */
  readonly tell: (report: NodeReport) => void;
}

export class StatsPublisher {
  readonly #parts: StatsPublisherPorts;
  #untilMs = -Infinity;
  #cancel: Cancel | null = null;
  #reports = 0;
  #lastReportAtMs = 0;
  #lastReport: ReportedStats | null = null;
  #levelsSoon = false;
  #worstDelayMs = 0;
  #lastCpu: NodeJS.CpuUsage | null = null;
  #isPublishingAll = false;
  #news: ClusterEvent[] = [];
  #reading = false;

  constructor(parts: StatsPublisherPorts) {
    this.#parts = parts;
  }

  /** Called when somebody watches, for the next seconds at least. */
  asked(fresh: boolean): void {
    const { time } = this.#parts;
    this.#untilMs = time.monotonicMs() + ASKED_MS;
    if (fresh) {
      this.#isPublishingAll = true;
      this.#reports = 0;
    }
    if (this.#cancel !== null && !fresh) return;
    if (this.#cancel === null) this.#begin();
    this.#publishReport();
  }

  /** Called when an event happened here, which viewers see at once. */
  happened(event: ClusterEvent): void {
    if (this.#cancel === null) return;
    this.#news.push(event);
    // The epochs of its shards follow with the levels.
    if (event.kind === 'moved') this.#levelsSoon = true;
    this.#later(0);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#untilMs = -Infinity;
  }

  #begin(): void {
    const { time, figures } = this.#parts;
    // Counts from before the watch do not belong to the last second.
    figures.take(1);
    this.#lastCpu = process.cpuUsage();
    this.#lastReportAtMs = time.monotonicMs();
    this.#lastReport = null;
    this.#reports = 0;
  }

  #later(delayMs: number): void {
    const { time, log } = this.#parts;
    this.#cancel?.();
    const dueAtMs = time.monotonicMs() + delayMs;
    this.#cancel = time.after(delayMs, () => {
      this.#worstDelayMs = Math.max(this.#worstDelayMs, time.monotonicMs() - dueAtMs);
      try {
        this.#publishReport();
      } catch (error) {
        log.error({ err: error }, 'the console failed');
      }
    });
  }

  #publishReport(): void {
    const { node, time, events, tell } = this.#parts;
    if (time.monotonicMs() > this.#untilMs) {
      this.stop();
      return;
    }
    this.#later(REPORT_MS);
    events.flush(1_000);
    const published = this.#isPublishingAll ? [...events.all()] : this.#news;
    this.#isPublishingAll = false;
    this.#news = [];
    const isReport = this.#reports % REPORTS_PER_STATS === 0;
    this.#reports += 1;
    tell({
      node,
      ...(published.length === 0 ? {} : { events: published }),
      ...(isReport ? { figures: this.#report() } : {}),
    });
    if (isReport || this.#levelsSoon) void this.#publishLevels();
    this.#levelsSoon = false;
  }

  /** Separate from the report, which must not wait for Redis. */
  async #publishLevels(): Promise<void> {
    const { node, levels, readLevels, tell } = this.#parts;
    if (this.#reading) return;
    this.#reading = true;
    try {
      const owned = levels.ownedShards();
      if (owned.length > 0) tell({ node, levels: await readLevels(owned) });
    } catch {
      // Redis is unavailable: the console shows it.
    } finally {
      this.#reading = false;
    }
  }

  #report(): ReportedStats {
    const { time, figures, levels } = this.#parts;
    const elapsedMs = Math.max(1, time.monotonicMs() - this.#lastReportAtMs);
    if (this.#lastReport !== null && elapsedMs < SHORTEST_REPORT_MS) return this.#lastReport;
    this.#lastReportAtMs = time.monotonicMs();
    const { speeds, lags } = figures.take(elapsedMs);
    const cpu = process.cpuUsage(this.#lastCpu ?? undefined);
    this.#lastCpu = process.cpuUsage();
    const loopDelayMs = Math.round(this.#worstDelayMs);
    this.#worstDelayMs = 0;
    const enqueuer = levels.enqueuer();
    const { delivered, retried, failed, superseded } = speeds;
    this.#lastReport = {
      load: {
        inFlight: levels.inFlight(),
        capacity: levels.capacity,
        deliveriesPerS: Math.round((delivered + retried + failed + superseded) * 10) / 10,
        memoryBytes: process.memoryUsage.rss(),
        cpu: Math.round((cpu.user + cpu.system) / elapsedMs / 10) / 100,
        loopDelayMs,
      },
      speeds,
      lags,
      sweeps: figures.sweeps,
      sweepBacklog: levels.sweepBacklog(),
      tableUp: levels.isTableUp(),
      queueUp: levels.isQueueUp(),
      tableBacklog: levels.tableBacklog(),
      offersWaiting: enqueuer.waiting,
      offersLeftToSweeps: enqueuer.leftToSweeps,
    };
    return this.#lastReport;
  }
}
