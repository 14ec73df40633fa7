// One simulation: a cluster, work, faults, and the time to get over them; the same for the same seed.

import { transactionLimits } from '../../src/compose/transaction-limits.js';
import type { Config } from '../../src/config.js';
import { Checks } from './checks.js';
import { Destinations } from './destinations.js';
import { EVERY_FAULT, type FaultKind, Faults } from './faults.js';
import { type SimulatedNode, type Mutant, type Environment, TIMES } from './node.js';
import { MessageClients } from './message-clients.js';
import { RedisServer } from './redis-server.js';
import { ScheduleClients } from './schedule-clients.js';
import { PostgresServer } from './postgres-server.js';
import { installTurns } from './turns.js';
import { World } from './world.js';

export interface SimulationSettings {
  /** How long things go wrong, in virtual milliseconds from the start; longer where that brings too few disturbances. */
  readonly faultsMs?: number;
  readonly leastDisturbances?: number;
  readonly faults?: readonly FaultKind[];
  readonly mutant?: Mutant;
  /** 0: the data Redis keeps the locks. */
  readonly lockServers?: number;
  readonly shards?: number;
  readonly nodes?: number;
  /** Whether nothing that goes wrong is a reason to move a shard. */
  readonly mayNotMove?: boolean;
  /** For how long a shard may be without an actor at most; any time when left out. */
  readonly ownerlessMs?: number;
  /** How late a message may be sent at most; any time when left out. */
  readonly lateMs?: number;
  /** Settings of nodes that differ from those of other simulations. */
  readonly config?: Partial<Config>;
  /** Whether clients send messages that are due in minutes, and schedules are minutes apart. */
  readonly isFar?: boolean;
}

export interface SimulationResult {
  readonly seed: number;
  readonly hash: string;
  readonly violations: readonly string[];
  readonly lines: readonly string[];
  readonly steps: number;
  /** From the start until things no longer went wrong, and how often something did. */
  readonly faultsMs: number;
  readonly disturbances: number;
  readonly virtualMs: number;
  /** Transactions that stood still until PostgreSQL ended them, and shards that a grant left out because of one. */
  readonly abandoned: number;
  readonly skippedGrants: number;
  readonly messages: number;
  /** Changes of schedules, and how often one moved on to another time. */
  readonly changes: number;
  readonly fires: number;
  readonly skipped: number;
  readonly callbacks: number;
  /** Accepts that were told whose repeat they are. */
  readonly duplicates: number;
  readonly claims: number;
  /** Cancels that were acknowledged. */
  readonly cancels: number;
  readonly refusals: number;
  readonly secondDeliveries: number;
  readonly moves: number;
  readonly maxTakeoverCommands: number;
}

const FAULTS_MS = 30_000;
const LEAST_DISTURBANCES = 10;
/** Shards move only when somebody asks for it in some simulations: what is asked for comes in this time, or never. */
const FAULTS_MAX_MS = 10 * FAULTS_MS;
/** A heartbeat's delay and the give that follows. */
const SLACK_MS = 1_500;
const LOOK_EVERY_MS = 500;
/** Schedules that were in flight when their node died lapse, and are claimed again. */
const CATCH_UP_MS = 40_000;
const BEHIND_MS = 2_000;
/** What is at rest stays so. */
const STAYS_MS = 3 * TIMES.heartbeatMs;
/** What was lost from Redis is rescued, what lapsed is sent again, what failed is retried. */
const SETTLE_MS = 75_000;

/** Runs until the end or the first violation. */
export async function simulate(seed: number, settings: SimulationSettings = {}): Promise<SimulationResult> {
  const uninstall = installTurns();
  try {
    return await run(new Simulation(seed, settings), settings);
  } finally {
    uninstall();
  }
}

export class Simulation {
  readonly world: World;
  readonly checks = new Checks();
  readonly faults: Faults;
  readonly around: Environment;
  readonly clients: readonly [MessageClients, ScheduleClients];
  readonly #mayNotMove: boolean;
  readonly #mayGoBack: boolean;
  readonly #nodes: number | undefined;
  readonly #ownerlessMs: number | undefined;

  constructor(
    readonly seed: number,
    settings: SimulationSettings,
  ) {
    this.world = new World(seed);
    const { world } = this;
    const { random } = world;
    const shards = settings.shards ?? random.between(6, 14);
    const lockCount = settings.lockServers ?? random.pickIfAny([0, 1, 3, 3]) ?? 0;
    const redis = new RedisServer(world, 'redis');
    const own = Array.from(
      { length: lockCount },
      (_, index) => new RedisServer(world, `lock-${index}`, 1 + random.within(-0.003, 0.003)),
    );
    const kinds = settings.faults ?? EVERY_FAULT;
    this.around = {
      world,
      shards,
      redis,
      lockServers: own.length === 0 ? [redis] : own,
      postgres: new PostgresServer(world, shards, transactionLimits(TIMES.leaseMs)),
      destinations: new Destinations(world),
      troubles:
        kinds.length === 0
          ? { lostRequest: 0, lostAnswer: 0, longDelay: 0.01, longDelayMs: 100 }
          : { lostRequest: 0.0004, lostAnswer: 0.0004, longDelay: 0.01, longDelayMs: 400 },
      watch: this.checks,
      config: settings.config ?? {},
      ...(settings.mutant === undefined ? {} : { mutant: settings.mutant }),
    };
    settings.mutant?.redis?.(redis);
    settings.mutant?.postgres?.(this.around.postgres);
    this.checks.watch(this.around);
    this.checks.locksMayGoBack = own.length === 0 && (kinds.includes('failover') || kinds.includes('flush'));
    this.#mayGoBack = kinds.includes('failover');
    this.#nodes = settings.nodes;
    this.#mayNotMove = settings.mayNotMove ?? false;
    this.faults = new Faults(this.around, this.checks, kinds);
    this.#ownerlessMs = settings.ownerlessMs;
    this.checks.lateMs = settings.lateMs ?? Infinity;
    const { isFar = false } = settings;
    const running = (): SimulatedNode[] => this.faults.live.filter(({ process }) => process.runs);
    this.clients = [new MessageClients(this.around, running, isFar), new ScheduleClients(this.around, running, isFar)];
  }

  begin(): void {
    const { world, around, faults } = this;
    if (this.#mayGoBack) around.redis.rememberStates();
    const nodes = this.#nodes ?? world.random.between(2, 4);
    for (let node = 0; node < nodes; node++) faults.join();
    for (const clients of this.clients) clients.begin();
    // Those that joined at first may share evenly only when their grace is over.
    const calmMs = this.#mayNotMove ? 2 * TIMES.joinGraceMs : 0;
    world.after(calmMs + world.random.within(4_000, 9_000), () => {
      this.checks.mayNotMove = this.#mayNotMove;
      faults.begin();
      if (this.#ownerlessMs !== undefined) this.checks.boundOwnerless(faults.nodes, this.#ownerlessMs);
    });
  }

  /** By when every shard must have its one owner again, from now on. */
  recoveryMs(): number {
    const deaths = Math.max(0, ...this.faults.deaths.values());
    const graceMs = deaths < 2 ? TIMES.joinGraceMs : Math.min(TIMES.joinGraceMs * 2 ** (deaths - 1), 60_000);
    const bootMs = TIMES.leaseMs * 1.01;
    return TIMES.leaseMs + bootMs + 2 * TIMES.heartbeatMs + graceMs + TIMES.handoverMs + SLACK_MS;
  }
}

async function run(simulation: Simulation, settings: SimulationSettings): Promise<SimulationResult> {
  const { world, faults, checks, seed, around } = simulation;
  const startedAtMs = world.nowMs;
  simulation.begin();
  const goOn = async (isOver: () => boolean): Promise<void> => {
    while (world.violations.length === 0 && !isOver() && (await world.step()));
  };
  const { faultsMs = FAULTS_MS, leastDisturbances = LEAST_DISTURBANCES } = settings;
  await goOn(() => {
    const sinceMs = world.nowMs - startedAtMs;
    return sinceMs >= faultsMs && (faults.count >= leastDisturbances || sinceMs >= FAULTS_MAX_MS);
  });
  faults.end();
  const faultsEndedMs = world.nowMs - startedAtMs;
  await goOn(() => faults.arePast);
  world.note('all is well again');
  const recoveredAtMs = world.nowMs + simulation.recoveryMs();
  const [messageClients, scheduleClients] = simulation.clients;
  messageClients.end();
  scheduleClients.end();
  /** Looked at now and then: most clusters need not be waited for until the last moment. */
  const goOnUntil = async (isReached: () => boolean, latestMs: number): Promise<void> => {
    let lookAtMs = world.nowMs;
    await goOn(() => {
      if (world.nowMs < lookAtMs) return false;
      lookAtMs = world.nowMs + LOOK_EVERY_MS;
      return world.nowMs >= latestMs || isReached();
    });
  };
  await goOnUntil(() => checks.ownerFaults(faults.nodes).length === 0, recoveredAtMs);
  if (world.violations.length === 0) checks.checkOwners(faults.nodes);
  const behind = (): string[] => checks.schedules.behind(around.redis.exactMs() - BEHIND_MS);
  await goOnUntil(() => behind().length === 0, world.nowMs + CATCH_UP_MS);
  if (world.violations.length === 0) behind().forEach((text) => world.violate(text));
  scheduleClients.pauseAll();
  const calmAtMs = world.nowMs + STAYS_MS;
  const isDone = (): boolean => world.nowMs > calmAtMs && checks.schedules.areAllPaused && checks.isAllEnded;
  await goOnUntil(isDone, world.nowMs + SETTLE_MS + messageClients.maxDelayMs);
  if (world.violations.length === 0) checks.checkOwners(faults.nodes);
  if (world.violations.length === 0) checks.checkMessages();
  if (world.violations.length === 0) checks.schedules.checkRecords();
  return {
    seed,
    hash: world.hash,
    violations: world.violations,
    lines: world.lastLines,
    steps: world.steps,
    faultsMs: faultsEndedMs,
    disturbances: faults.count,
    virtualMs: world.nowMs - startedAtMs,
    abandoned: around.postgres.transactions.abandoned,
    skippedGrants: around.postgres.skippedGrants,
    messages: around.postgres.messages.size,
    changes: checks.schedules.changes,
    fires: checks.schedules.fires,
    skipped: [...around.postgres.messages.values()].filter(({ state }) => state === 'skipped').length,
    callbacks: checks.records.callbacks,
    duplicates: checks.records.duplicates,
    claims: checks.claims,
    cancels: checks.cancels,
    refusals: checks.refusals,
    secondDeliveries: checks.secondDeliveries,
    moves: checks.moves,
    maxTakeoverCommands: checks.maxTakeoverCommands,
  };
}
