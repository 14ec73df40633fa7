// One simulation: a cluster, work, faults, and the time to get over them; the same for the same seed.

import { transactionLimits } from '../../src/compose/transaction-limits.js';
import { Checks } from './checks.js';
import { Destinations } from './destinations.js';
import { EVERY_FAULT, type FaultKind, Faults } from './faults.js';
import { type SimulatedNode, type Spoil, type Surroundings, TIMES } from './node.js';
import { RedisServer } from './redis-server.js';
import { TableServer } from './table-server.js';
import { installTurns } from './turns.js';
import { World } from './world.js';

export interface SimulationSettings {
  /** How long things go wrong, in virtual milliseconds from the start; longer where that brings too few disturbances. */
  readonly faultsMs?: number;
  readonly leastDisturbances?: number;
  readonly faults?: readonly FaultKind[];
  readonly spoil?: Spoil;
  /** 0: the data Redis keeps the locks. */
  readonly lockServers?: number;
  readonly shards?: number;
  readonly nodes?: number;
  /** Whether nothing that goes wrong is a reason to move a shard. */
  readonly mayNotMove?: boolean;
  /** For how long a shard may be without an actor at most; any time when left out. */
  readonly ownerlessMs?: number;
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
/** Work comes in, in the mean, so often. */
const MESSAGE_EVERY_MS = 250;
const MAX_DELAY_MS = 6_000;
/** So many messages are canceled, before they are due or just then. */
const IS_CANCELED = 0.1;
const CANCEL_LATE_EVERY_MS = 2_000;
const LATE_MS = 500;
/** A heartbeat's delay and the give that follows. */
const SLACK_MS = 1_500;
const LOOK_EVERY_MS = 500;
/** What is at rest stays so. */
const STAYS_MS = 3 * TIMES.heartbeatMs;
/** What was lost from the queue is rescued, what lapsed is sent again, what failed is retried. */
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
  readonly around: Surroundings;
  isBusy = true;
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
    const { chance } = world;
    const shards = settings.shards ?? chance.whole(6, 14);
    const lockCount = settings.lockServers ?? chance.pick([0, 1, 3, 3]) ?? 0;
    const redis = new RedisServer(world, 'redis');
    const own = Array.from(
      { length: lockCount },
      (_, index) => new RedisServer(world, `lock-${index}`, 1 + chance.between(-0.003, 0.003)),
    );
    const kinds = settings.faults ?? EVERY_FAULT;
    this.around = {
      world,
      shards,
      redis,
      lockServers: own.length === 0 ? [redis] : own,
      table: new TableServer(world, shards, transactionLimits(TIMES.leaseMs)),
      destinations: new Destinations(world),
      troubles:
        kinds.length === 0
          ? { lostRequest: 0, lostAnswer: 0, longDelay: 0.01, longDelayMs: 100 }
          : { lostRequest: 0.0004, lostAnswer: 0.0004, longDelay: 0.01, longDelayMs: 400 },
      watch: this.checks,
      ...(settings.spoil === undefined ? {} : { spoil: settings.spoil }),
    };
    settings.spoil?.redis?.(redis);
    settings.spoil?.table?.(this.around.table);
    this.checks.watch(this.around);
    this.checks.locksMayGoBack = own.length === 0 && (kinds.includes('failover') || kinds.includes('flush'));
    this.#mayGoBack = kinds.includes('failover');
    this.#nodes = settings.nodes;
    this.#mayNotMove = settings.mayNotMove ?? false;
    this.faults = new Faults(this.around, this.checks, kinds);
    this.#ownerlessMs = settings.ownerlessMs;
  }

  begin(): void {
    const { world, around, faults } = this;
    if (this.#mayGoBack) around.redis.rememberStates();
    const nodes = this.#nodes ?? world.chance.whole(2, 4);
    for (let node = 0; node < nodes; node++) faults.join();
    this.#publishOn();
    this.#cancelOn();
    // Those that joined at first may share evenly only when their grace is over.
    const calmMs = this.#mayNotMove ? 2 * TIMES.joinGraceMs : 0;
    world.after(calmMs + world.chance.between(4_000, 9_000), () => {
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

  #running(): SimulatedNode[] {
    return this.faults.live.filter(({ process }) => process.runs);
  }

  /** Through a node that is cut off from Redis where there is one. */
  #cancel(id: string): void {
    const nodes = this.#running();
    (nodes.find(({ redisLink }) => !redisLink.isOpen) ?? this.world.chance.pick(nodes))?.cancel(id);
  }

  /** Now and then one is canceled that should have been sent by now: what a frozen node has in its hands is among them. */
  #cancelOn(): void {
    const { world, around } = this;
    world.after(CANCEL_LATE_EVERY_MS, () => {
      if (!this.isBusy) return;
      const lateMs = around.redis.exactMs() - LATE_MS;
      const late = [...around.table.messages.values()].find(
        ({ state, attempts, due_at }) => state === 'pending' && attempts === 0 && due_at < lateMs,
      );
      if (late !== undefined) this.#cancel(late.id);
      this.#cancelOn();
    });
  }

  #publishOn(): void {
    const { world } = this;
    world.after(-Math.log(1 - world.chance.next()) * MESSAGE_EVERY_MS, () => {
      if (!this.isBusy) return;
      const dueInMs = world.chance.happens(0.5) ? 0 : world.chance.between(0, MAX_DELAY_MS);
      const id = world.chance.pick(this.#running())?.publish(dueInMs);
      if (id !== undefined && world.chance.happens(IS_CANCELED)) {
        world.after(world.chance.between(0, dueInMs + 200), () => this.#cancel(id));
      }
      this.#publishOn();
    });
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
  simulation.isBusy = false;
  // Looked at now and then: most clusters need not be waited for until the last moment.
  let lookAtMs = world.nowMs;
  const isAtRest = (): boolean => {
    if (world.nowMs < lookAtMs) return false;
    lookAtMs = world.nowMs + LOOK_EVERY_MS;
    return checks.ownerFaults(faults.nodes).length === 0;
  };
  await goOn(() => world.nowMs >= recoveredAtMs || isAtRest());
  if (world.violations.length === 0) checks.checkOwners(faults.nodes);
  const calmAtMs = world.nowMs + STAYS_MS;
  const settledAtMs = world.nowMs + SETTLE_MS;
  const isDone = (): boolean => world.nowMs > calmAtMs && checks.isAllEnded;
  await goOn(() => world.nowMs >= settledAtMs || isDone());
  if (world.violations.length === 0) checks.checkOwners(faults.nodes);
  if (world.violations.length === 0) checks.checkMessages();
  return {
    seed,
    hash: world.hash,
    violations: world.violations,
    lines: world.lastLines,
    steps: world.steps,
    faultsMs: faultsEndedMs,
    disturbances: faults.count,
    virtualMs: world.nowMs - startedAtMs,
    abandoned: around.table.transactions.abandoned,
    skippedGrants: around.table.skippedGrants,
    messages: around.table.messages.size,
    claims: checks.claims,
    cancels: checks.cancels,
    refusals: checks.refusals,
    secondDeliveries: checks.secondDeliveries,
    moves: checks.moves,
    maxTakeoverCommands: checks.maxTakeoverCommands,
  };
}
