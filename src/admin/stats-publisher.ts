// Says what this node does, while somebody anywhere in the cluster watches: four times a second that it is there, once a second its figures
// and how much lies in its shards. Otherwise it is silent and has no timer.

import type { Logger } from 'pino';
import type { Cancel, ProcessTime } from '../domain/clock.js';
import type { NodeEvents } from './node-events.js';
import type { NodeFigures } from './node-figures.js';
import type { ClusterEvent } from './protocol.js';
import type { ReportedStats, NodeReport, ShardLevel } from './node-report.js';

const PULSE_MS = 250;
const PULSES_A_REPORT = 4;
/** What was done in less time says little about how much is done in a second. */
const SHORTEST_REPORT_MS = 500;
/** Watchers say every two seconds that they are there. */
const ASKED_MS = 5_000;

/** What is asked for when somebody watches. */
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
  /** How much lies in these shards' queues. */
  readonly readLevels: (shards: readonly number[]) => Promise<readonly ShardLevel[]>;
  /** To all nodes, this one among them. */
  readonly tell: (report: NodeReport) => void;
}

export class StatsPublisher {
  readonly #parts: StatsPublisherPorts;
  #untilMs = -Infinity;
  #cancel: Cancel | null = null;
  #pulses = 0;
  #lastReportAtMs = 0;
  #lastReport: ReportedStats | null = null;
  #levelsSoon = false;
  #worstDelayMs = 0;
  #lastCpu: NodeJS.CpuUsage | null = null;
  #isTellingAll = false;
  #news: ClusterEvent[] = [];
  #reading = false;

  constructor(parts: StatsPublisherPorts) {
    this.#parts = parts;
  }

  /** Somebody watches, for the next seconds at least. */
  asked(fresh: boolean): void {
    const { time } = this.#parts;
    this.#untilMs = time.monotonicMs() + ASKED_MS;
    if (fresh) {
      this.#isTellingAll = true;
      this.#pulses = 0;
    }
    if (this.#cancel !== null && !fresh) return;
    if (this.#cancel === null) this.#begin();
    this.#publishReport();
  }

  /** Something happened here: those who watch see it at once. */
  happened(event: ClusterEvent): void {
    if (this.#cancel === null) return;
    this.#news.push(event);
    // With it come the epochs of the shards that it is about.
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
    // What was counted while nobody watched was not done in the last second.
    figures.take(1);
    this.#lastCpu = process.cpuUsage();
    this.#lastReportAtMs = time.monotonicMs();
    this.#lastReport = null;
    this.#pulses = 0;
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
    this.#later(PULSE_MS);
    events.flush(1_000);
    const told = this.#isTellingAll ? [...events.all()] : this.#news;
    this.#isTellingAll = false;
    this.#news = [];
    const isReport = this.#pulses % PULSES_A_REPORT === 0;
    this.#pulses += 1;
    tell({ node, ...(told.length === 0 ? {} : { events: told }), ...(isReport ? { figures: this.#report() } : {}) });
    if (isReport || this.#levelsSoon) void this.#publishLevels();
    this.#levelsSoon = false;
  }

  /** Apart from the pulse, which is not to wait for Redis. */
  async #publishLevels(): Promise<void> {
    const { node, levels, readLevels, tell } = this.#parts;
    if (this.#reading) return;
    this.#reading = true;
    try {
      const owned = levels.ownedShards();
      if (owned.length > 0) tell({ node, levels: await readLevels(owned) });
    } catch {
      // Redis is unavailable: those who watch see that.
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
