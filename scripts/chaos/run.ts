/** One chaos run: the cluster, the load, the faults one after the other with quiet times between, and the evidence of it all. */
import { setTimeout as delay } from 'node:timers/promises';
import { Api, type RequestCounts } from './api.js';
import { SeededRandom } from '../../test/kit/seeded-random.js';
import { ClaimsMonitor } from './claims-monitor.js';
import { startCluster, type ChaosCluster } from './cluster.js';
import type { Disturbance, Evidence, FaultNote } from './evidence.js';
import { carryOut } from './faults.js';
import { MessageLoad } from './load-messages.js';
import { ScheduleLoad } from './load-schedules.js';
import { readLogs } from './node-logs.js';
import { timesOf, type ClusterTimes } from './node-settings.js';
import type { ChaosOptions } from './options.js';
import { planFaults } from './plan.js';
import { type Recovery, untilWhole } from './recovery.js';
import { Sampler } from './sampler.js';
import { Witness } from './witness.js';

/** What the live view shows. */
export interface Progress {
  phase: string;
  readonly startedAtMs: number;
  readonly endsAtMs: number;
  readonly cluster: ChaosCluster;
  readonly requests: RequestCounts;
  readonly faults: readonly FaultNote[];
  readonly schedules: number;
  readonly published: number;
}

export interface RunListener {
  /** A line for people: what happens now. */
  readonly say: (line: string) => void;
  /** From now on there is something to show. */
  readonly started: (progress: () => Progress) => void;
  /** Settles when the run is to be broken off. */
  readonly interrupted: Promise<unknown>;
}

export interface RunResult {
  readonly evidence: Evidence;
  readonly requests: RequestCounts;
}

export class Interrupted extends Error {}

/** Time that the end of a run needs: the last messages become due, all is delivered, all is read. */
const WIND_DOWN_MS = 15_000;
const RECOVERY_TIMEOUT_MS = 90_000;
const FINISH_TIMEOUT_MS = 90_000;
const FINISH_POLL_MS = 250;
/** Least time without faults, to compare lag. */
const QUIET_MS = { least: 5_000, most: 15_000, share: 0.025 };

/** Runs and gives the evidence. Rejects with Interrupted when it is broken off, and when the cluster cannot even be started. */
export async function runChaos(options: ChaosOptions, folder: string, listener: RunListener): Promise<RunResult> {
  const times = timesOf(options.leaseMs);
  const { nodes, shards } = options;
  const cluster = await startCluster({ folder, nodes, shards, times, say: listener.say });
  const witness = new Witness(cluster.stores.urls.postgres);
  try {
    const run = new Run(options, times, cluster, witness, listener);
    return await Promise.race([
      run.carryOut(),
      listener.interrupted.then(() => {
        throw new Interrupted('broken off');
      }),
    ]);
  } finally {
    await witness.stop();
    await cluster.stop();
  }
}

class Run {
  readonly #options: ChaosOptions;
  readonly #times: ClusterTimes;
  readonly #cluster: ChaosCluster;
  readonly #witness: Witness;
  readonly #listener: RunListener;
  readonly #api: Api;
  readonly #messages: MessageLoad;
  readonly #schedules: ScheduleLoad;
  readonly #faults: FaultNote[] = [];
  readonly #disturbances: Disturbance[] = [];
  readonly #monitor: ClaimsMonitor;
  readonly #sampler: Sampler;
  readonly #startedAtMs = Date.now();
  #wholeAtMs = Infinity;
  #phase = 'warming up';
  /** True while something is broken or recovering. */
  #disturbed = true;

  constructor(
    options: ChaosOptions,
    times: ClusterTimes,
    cluster: ChaosCluster,
    witness: Witness,
    listener: RunListener,
  ) {
    this.#options = options;
    this.#times = times;
    this.#cluster = cluster;
    this.#witness = witness;
    this.#listener = listener;
    this.#api = new Api(cluster.url);
    const { rate, seed } = options;
    const common = { api: this.#api, receiverUrl: cluster.receiver.url };
    const coldAfterMs = times.queuedWithinMs;
    this.#messages = new MessageLoad({ ...common, random: new SeededRandom(seed + 1), rate: 0.55 * rate, coldAfterMs });
    this.#schedules = new ScheduleLoad({
      ...common,
      random: new SeededRandom(seed + 2),
      everySecond: Math.max(2, Math.round(0.3 * rate)),
      everyFive: Math.max(2, Math.round(0.5 * rate)),
      everyMinute: Math.max(2, Math.round(rate)),
      changeEveryMs: 1_000,
    });
    const { redis } = cluster.stores.urls;
    this.#monitor = new ClaimsMonitor(redis);
    this.#sampler = new Sampler({
      url: cluster.url,
      redisUrl: redis,
      witness,
      shards: options.shards,
      queuedWithinMs: times.queuedWithinMs,
      isDisturbed: () => this.#disturbed,
    });
  }

  async carryOut(): Promise<RunResult> {
    try {
      return await this.#all();
    } finally {
      this.#monitor.stop();
      await this.#sampler.stop();
    }
  }

  async #all(): Promise<RunResult> {
    await this.#witness.install();
    const endsAtMs = this.#startedAtMs + 60_000 * this.#options.minutes;
    const faultsUntilMs = endsAtMs - WIND_DOWN_MS;
    this.#listener.started(() => this.#progress(endsAtMs));
    this.#say('load begins');
    this.#messages.start(faultsUntilMs);
    await this.#schedules.start();
    this.#wholeAtMs = (await this.#recover('the start')).atMs ?? Date.now();
    await this.#breakThings(faultsUntilMs);
    return await this.#windDown();
  }

  async #breakThings(untilMs: number): Promise<void> {
    const quietMs = Math.min(QUIET_MS.most, Math.max(QUIET_MS.least, QUIET_MS.share * (untilMs - this.#startedAtMs)));
    let longestMs = 0;
    for (const fault of planFaults(this.#options)) {
      this.#phase = 'quiet';
      await delay(Math.min(quietMs, Math.max(0, untilMs - Date.now())));
      // One that would not end in time is not begun, but one there must be.
      if (this.#faults.length > 0 && Date.now() + Math.min(longestMs, 4 * this.#times.leaseMs) > untilMs) break;
      this.#phase = `fault: ${fault.kind}`;
      this.#disturbed = true;
      const startedAtMs = Date.now();
      const { nodes, detail } = await carryOut(fault, {
        cluster: this.#cluster,
        disturbances: this.#disturbances,
        witness: this.#witness,
        api: this.#api,
        schedules: this.#schedules,
      });
      const note: FaultNote = {
        kind: fault.kind,
        nodes,
        startedAtMs,
        endedAtMs: Date.now(),
        recoveredAtMs: null,
        detail,
      };
      this.#faults.push(note);
      const recovery = await this.#recover(`${fault.kind} ${nodes.length === 1 ? nodes[0] : ''} (${detail})`);
      note.recoveredAtMs = recovery.atMs;
      note.ownedAtMs = recovery.ownedAtMs;
      longestMs = Math.max(longestMs, Date.now() - startedAtMs);
    }
    this.#phase = 'quiet';
    await delay(Math.max(0, untilMs - Date.now()));
  }

  /** Waits until the cluster is whole again. */
  async #recover(from: string): Promise<Recovery> {
    const sinceMs = Date.now();
    this.#phase = `recovering from ${from}`;
    const whole = await untilWhole(this.#cluster, this.#witness, RECOVERY_TIMEOUT_MS);
    this.#disturbed = false;
    if (whole.atMs === null) this.#say(`${from}: NOT whole again after ${RECOVERY_TIMEOUT_MS / 1_000} s: ${whole.why}`);
    else this.#say(`${from}: whole again after ${((whole.atMs - sinceMs) / 1_000).toFixed(1)} s`);
    return whole;
  }

  async #windDown(): Promise<RunResult> {
    this.#phase = 'ending: the last messages become due';
    await this.#sampler.look();
    const endedAtMs = Date.now();
    await this.#messages.stop();
    await this.#schedules.stop();
    const deadlineMs = performance.now() + FINISH_TIMEOUT_MS;
    while ((await this.#witness.pending()) > 0 && performance.now() < deadlineMs) await delay(FINISH_POLL_MS);
    this.#phase = 'reading the evidence';
    this.#disturbed = true;
    return { evidence: await this.#collect(endedAtMs), requests: this.#api.counts };
  }

  async #collect(endedAtMs: number): Promise<Evidence> {
    const grants = await this.#witness.grants();
    const lives = this.#cluster.nodes.flatMap((node) => node.loggedLives);
    const events = readLogs(lives, grants);
    return {
      startedAtMs: this.#startedAtMs,
      wholeAtMs: this.#wholeAtMs,
      endedAtMs,
      shards: this.#options.shards,
      leaseMs: this.#options.leaseMs,
      misfireGraceMs: this.#times.misfireGraceMs,
      calls: await this.#cluster.receiver.calls(),
      messages: await this.#witness.messages(),
      failedAttempts: await this.#witness.failedAttempts(),
      stateNotes: await this.#witness.stateNotes(),
      grants,
      claims: this.#monitor.claims,
      // As they are now: what follows is the end of the run, not of the nodes.
      lives: lives.map(({ life }) => ({ ...life })),
      disturbances: this.#disturbances,
      faults: this.#faults,
      publishes: this.#messages.publishes,
      cancels: this.#messages.cancels,
      schedules: this.#schedules.histories,
      samples: this.#sampler.samples,
      events,
    };
  }

  #progress(endsAtMs: number): Progress {
    return {
      phase: this.#phase,
      startedAtMs: this.#startedAtMs,
      endsAtMs,
      cluster: this.#cluster,
      requests: this.#api.counts,
      faults: this.#faults,
      schedules: this.#schedules.count,
      published: this.#messages.publishes.length,
    };
  }

  #say(line: string): void {
    this.#listener.say(`${((Date.now() - this.#startedAtMs) / 1_000).toFixed(0).padStart(4)} s  ${line}`);
  }
}
