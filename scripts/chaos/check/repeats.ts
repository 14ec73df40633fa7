/**
 * Judges second deliveries (I9): each must be of a message that was in flight on a node when that node was killed, frozen or cut off.
 *
 * In flight means: the call had arrived, and its outcome was not committed yet. Between the receiver's answer and the commit a node
 * needs a moment, which is why a call that was answered shortly before a kill may come again. A call that follows a failed answer is a
 * retry, which is no second delivery.
 */
import type { Life } from '../../../test/kit/node-process.js';
import type { Call, Disturbance, Evidence } from '../evidence.js';
import { clockTime, Findings, groupBy, type Finding } from './findings.js';

export interface RepeatsVerdict {
  readonly retries: number;
  readonly duplicates: number;
  readonly explained: { readonly kill: number; readonly freeze: number; readonly cut: number };
  readonly unexplained: readonly Finding[];
  /** How many unexplained ones there are in all. */
  readonly unexplainedDuplicates: number;
}

/** How long a node may take from the receiver's answer to the commit. */
const RECORD_BOUND_MS = 2_000;
/** A request may still lie in the receiver's socket when its sender is killed. */
const ARRIVAL_SLACK_MS = 250;
/** What a disturbed node had looked up before is still sent by it this long after: connections time out and are made anew. */
const AFTERMATH_MS = 3_000;

export function judgeRepeats(evidence: Evidence): RepeatsVerdict {
  const findings = new Findings();
  const explained = { kill: 0, freeze: 0, cut: 0 };
  const committed = new Map<string, number>();
  for (const { messageId, state, atMs } of evidence.stateNotes)
    if (state === 'delivered') committed.set(messageId, atMs);
  const nodes = new NodesByPid(evidence.lives);
  let retries = 0;
  let duplicates = 0;
  for (const [messageId, calls] of groupBy(evidence.calls, (call) => call.messageId)) {
    const inOrder = [...calls].sort((a, b) => a.arrivedAtMs - b.arrivedAtMs);
    inOrder.forEach((call, index) => {
      const next = inOrder[index + 1];
      if (next === undefined) return;
      if (call.status !== null && call.status >= 300) {
        retries += 1;
        return;
      }
      duplicates += 1;
      const cause = causeOf({ call, next, committedAtMs: committed.get(messageId) ?? null }, evidence, nodes);
      if (cause === null) findings.add('second delivery without a cause', describe(call, next, nodes));
      else explained[cause] += 1;
    });
  }
  const unexplained = findings.list();
  return {
    retries,
    duplicates,
    explained,
    unexplained,
    unexplainedDuplicates: unexplained.reduce((sum, { count }) => sum + count, 0),
  };
}

interface Repetition {
  readonly call: Call;
  readonly next: Call;
  /** When the delivery was committed. */
  readonly committedAtMs: number | null;
}

function causeOf(repetition: Repetition, evidence: Evidence, nodes: NodesByPid): Disturbance['kind'] | null {
  const { call, next, committedAtMs } = repetition;
  for (const disturbance of evidence.disturbances) {
    if (isInFlight(call, next, disturbance) && nodes.mayBe(call, disturbance)) return disturbance.kind;
  }
  // A node that was frozen or cut off between its look into the table and its call sends what another one has finished meanwhile.
  const lookedUpBeforeMs = committedAtMs ?? call.arrivedAtMs;
  for (const disturbance of evidence.disturbances) {
    if (disturbance.kind === 'kill' || !nodes.mayBe(next, disturbance)) continue;
    const overlaps =
      disturbance.fromMs <= next.arrivedAtMs && disturbance.toMs >= Math.min(lookedUpBeforeMs, call.arrivedAtMs);
    if (overlaps && next.arrivedAtMs <= disturbance.toMs + AFTERMATH_MS) return disturbance.kind;
  }
  return null;
}

/** Whether the first call was on its way, or answered and not yet recorded, while the disturbance lasted. */
function isInFlight(call: Call, next: Call, { fromMs, toMs }: Disturbance): boolean {
  const recordedByMs = call.answeredAtMs === null ? Infinity : call.answeredAtMs + RECORD_BOUND_MS;
  return call.arrivedAtMs <= toMs + ARRIVAL_SLACK_MS && recordedByMs >= fromMs && next.arrivedAtMs >= fromMs;
}

/** Finds out which node's process made a call. */
class NodesByPid {
  readonly #lives: readonly Life[];

  constructor(lives: readonly Life[]) {
    this.#lives = lives;
  }

  lifeOf({ pid, arrivedAtMs }: Call): Life | undefined {
    return this.#lives.findLast((life) => life.pid === pid && life.spawnedAtMs <= arrivedAtMs);
  }

  /** Whether the disturbed node may have made the call: it did, or nobody knows who did. */
  mayBe(call: Call, disturbance: Disturbance): boolean {
    const life = this.lifeOf(call);
    if (life === undefined) return true;
    if (life.name !== disturbance.node) return false;
    // A kill strikes one life only, not the one after it.
    return disturbance.kind !== 'kill' || (life.endedBy === 'SIGKILL' && life.spawnedAtMs <= disturbance.toMs);
  }
}

function describe(call: Call, next: Call, nodes: NodesByPid): string {
  const by = (one: Call): string => nodes.lifeOf(one)?.identity ?? nodes.lifeOf(one)?.name ?? 'an unknown node';
  return (
    `${call.messageId} ${call.scheduleId ?? ''} ${call.path} arrived ${clockTime(call.arrivedAtMs)} from ${by(call)}, ` +
    `answered ${clockTime(call.answeredAtMs)} (${call.status}), again ${clockTime(next.arrivedAtMs)} from ${by(next)}`
  );
}
