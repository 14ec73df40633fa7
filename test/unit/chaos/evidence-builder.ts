/** Small hand-made evidence for the checker: a good run that tests then spoil. */
import type { Life } from '../../kit/node-process.js';
import type { Call, Evidence, MessageRecord, Publish } from '../../../scripts/chaos/evidence.js';

/** When the runs of these tests begin: a whole minute. */
export const T0 = Date.UTC(2026, 10, 29, 12, 0, 0);

export function record(id: string, changes: Partial<MessageRecord> = {}): MessageRecord {
  return {
    id,
    kind: 'published',
    state: 'delivered',
    reason: null,
    attempts: 1,
    maxRetries: 3,
    scheduleId: null,
    occurrenceAtMs: null,
    coversUntilMs: null,
    dueAtMs: T0 + 1_000,
    createdAtMs: T0 + 1_000,
    destination: `http://127.0.0.1:1/message?n=${id.replace(/\D/g, '')}`,
    ...changes,
  };
}

export function call(messageId: string, changes: Partial<Call> = {}): Call {
  return {
    messageId,
    retried: 0,
    scheduleId: null,
    occurrenceAtMs: null,
    path: '/message',
    arrivedAtMs: T0 + 1_010,
    answeredAtMs: T0 + 1_011,
    status: 200,
    pid: 1,
    ...changes,
  };
}

export function publish(messageId: string | null, number: number, changes: Partial<Publish> = {}): Publish {
  return {
    number,
    askedAtMs: T0 + 990,
    answeredAtMs: T0 + 1_005,
    messageId,
    deduplicated: false,
    end: 'delivered',
    delayMs: 0,
    ...changes,
  };
}

export function life(name: string, pid: number, changes: Partial<Life> = {}): Life {
  return {
    name,
    pid,
    identity: `${name}-0000000${pid}`,
    spawnedAtMs: T0 - 5_000,
    readyAtMs: T0 - 4_000,
    endedAtMs: null,
    endedBy: null,
    signaledAtMs: null,
    exitCode: null,
    ...changes,
  };
}

/** The occurrences of an every-second schedule, each with its call, from `from` to `to` seconds after the start. */
export function seconds(
  scheduleId: string,
  from: number,
  to: number,
  version = 1,
): { readonly messages: MessageRecord[]; readonly calls: Call[] } {
  const messages: MessageRecord[] = [];
  const calls: Call[] = [];
  for (let second = from; second <= to; second++) {
    const occurrenceAtMs = T0 + 1_000 * second;
    const id = `${scheduleId}/${second}`;
    const destination = `http://127.0.0.1:1/schedule?v=${version}`;
    const times = { occurrenceAtMs, dueAtMs: occurrenceAtMs, createdAtMs: occurrenceAtMs + 2 };
    messages.push(record(id, { kind: 'occurrence', scheduleId, destination, ...times }));
    const arrivedAtMs = occurrenceAtMs + 10;
    calls.push(call(id, { scheduleId, occurrenceAtMs, arrivedAtMs, answeredAtMs: arrivedAtMs + 1 }));
  }
  return { messages, calls };
}

/** A run of a minute in which one message was published and delivered, and nothing happened besides. */
export function goodRun(changes: Partial<Evidence> = {}): Evidence {
  return {
    startedAtMs: T0,
    wholeAtMs: T0,
    endedAtMs: T0 + 60_000,
    shards: 1,
    leaseMs: 5_000,
    misfireGraceMs: 60_000,
    calls: [call('msg_1')],
    messages: [record('msg_1')],
    failedAttempts: [],
    stateNotes: [{ messageId: 'msg_1', state: 'delivered', atMs: T0 + 1_015 }],
    grants: [{ shard: 0, epoch: 1, node: 'node-1-00000001', atMs: T0 - 4_500 }],
    claims: [{ shard: 0, epoch: 1, atMs: T0 + 1_009 }],
    lives: [life('node-1', 1), life('node-2', 2)],
    disturbances: [],
    faults: [],
    publishes: [publish('msg_1', 1)],
    cancels: [],
    schedules: [],
    samples: [{ atMs: T0 + 30_000, idleSchedules: [], queuedBeyondHorizon: [], orphanShards: 0 }],
    events: [{ node: 'node-1', identity: 'node-1-00000001', level: 30, msg: 'ready', atMs: T0 - 4_000, fields: {} }],
    ...changes,
  };
}
