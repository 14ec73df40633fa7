// Runs the fuzz against a node: seeded requests on some connections at once, each answer judged, failures with all that sends them again.

import { SeededRandom } from '../kit/seeded-random.js';
import type { Finding } from './findings.js';
import { Connection } from './connection.js';
import { operationsOf, type OpenApiDocument, type Operation } from './document.js';
import { DRAFT_MUTATIONS, type Tools } from './draft-mutations.js';
import { Drafts, type Caller } from './draft.js';
import { Judge } from './judge.js';
import type { World } from './values.js';
import { encode, shownBytes, wireOf, type WireRequest } from './wire.js';
import { WIRE_MUTATIONS } from './wire-mutations.js';

export interface FuzzSettings {
  readonly seed: number;
  readonly requests: number;
  readonly port: number;
  readonly document: OpenApiDocument;
  readonly world: World;
  readonly tokens: ReadonlyMap<Caller, string>;
  readonly bodyMaxBytes: number;
  /** Asked before each request; false ends the run. */
  readonly isAlive: () => boolean;
}

export interface FuzzResult {
  readonly findings: readonly Finding[];
  /** How many answers had each status; 0 stands for none. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Ids that were answered with success, by wire name. */
  readonly messageIds: readonly string[];
  /** Operations that nothing succeeded with. */
  readonly untouched: readonly string[];
  readonly sent: number;
  readonly slowestMs: number;
}

const CONNECTIONS = 8;
const LIMIT_MS = 5_000;
/** Longer than what is allowed, so that a late answer is told from none. */
const GIVE_UP_MS = 3 * LIMIT_MS;
const UNCHANGED_SHARE = 0.15;
const UNCHANGED_ROUNDS = 4;
const MUTATIONS_MAX = 3;

export async function fuzz(settings: FuzzSettings): Promise<FuzzResult> {
  const operations = operationsOf(settings.document);
  const judge = new Judge(operations);
  const drafts = new Drafts(operations, settings.world);
  const findings: Finding[] = [];
  const statuses = new Map<number, number>();
  let next = 0;
  let slowestMs = 0;

  async function work(): Promise<void> {
    const connection = new Connection(settings.port, GIVE_UP_MS);
    let before = -1;
    while (next < settings.requests && settings.isAlive()) {
      const index = next++;
      const { request, mutations } = requestOf(index, operations, drafts, settings);
      const bytes = encode(request);
      const isHead = bytes.subarray(0, 5).toString('latin1') === 'HEAD ';
      const exchange = await connection.exchange({ bytes, isHead, isBroken: request.isBroken });
      slowestMs = Math.max(slowestMs, exchange.tookMs);
      const judged = { exchange, bytes, caller: request.caller, isBroken: request.isBroken };
      const { operation, violations } = judge.violationsOf(judged, LIMIT_MS);
      const answer = exchange.answers[0];
      statuses.set(answer?.status ?? 0, (statuses.get(answer?.status ?? 0) ?? 0) + 1);
      if (answer !== undefined && answer.status < 300) learn(settings.world, answer.body);
      for (const fault of violations) {
        const said =
          answer === undefined ? exchange.ending : `${answer.status} ${answer.body.toString().slice(0, 300)}`;
        findings.push({
          request: `seed ${settings.seed}, request ${index} after ${before} (${mutations.join(', ') || 'unchanged'})`,
          operation,
          fault,
          details: `  answer: ${said}\n  request ${shownBytes(bytes)}`,
        });
      }
      before = index;
    }
    connection.close();
  }

  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return {
    findings,
    statuses: new Map([...statuses].sort(([a], [b]) => a - b)),
    messageIds: [...judge.messages.keys()],
    untouched: judge.untouched(),
    sent: next,
    slowestMs,
  };
}

/** The request of a seed and a number; but for the ids and cursors of earlier answers, always the same. */
function requestOf(
  index: number,
  operations: readonly Operation[],
  drafts: Drafts,
  settings: FuzzSettings,
): { request: WireRequest; mutations: string[] } {
  const random = new SeededRandom(Math.imul(settings.seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const { world, bodyMaxBytes } = settings;
  const tools: Tools = { random, world, drafts, bodyMaxBytes };
  // First each operation as it should be asked for, some times.
  const first = index < UNCHANGED_ROUNDS * operations.length ? operations[index % operations.length] : undefined;
  const names = first !== undefined || random.happens(UNCHANGED_SHARE) ? [] : mutationNames(random);
  const draft = first === undefined ? drafts.valid(random) : drafts.validOf(first, random);
  for (const name of names) DRAFT_MUTATIONS[name]?.(draft, tools);
  const request = wireOf(draft, settings.tokens, `127.0.0.1:${settings.port}`);
  for (const name of names) WIRE_MUTATIONS[name]?.(request, random);
  return { request, mutations: names };
}

function mutationNames(random: SeededRandom): string[] {
  const [meaning, writing] = [Object.keys(DRAFT_MUTATIONS), Object.keys(WIRE_MUTATIONS)];
  return Array.from({ length: random.between(1, MUTATIONS_MAX) }, () =>
    random.pick(random.happens(0.6) ? meaning : writing),
  );
}

function learn(world: World, body: Buffer): void {
  try {
    world.pool.learn(JSON.parse(body.toString()));
  } catch {
    // An answer that is no JSON names nothing; whether it should have been is judged elsewhere.
  }
}
