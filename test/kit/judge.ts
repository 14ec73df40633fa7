/**
 * Judges a crash test by two witnesses that no node can talk to: the receiver's log of calls, and PostgreSQL, where a trigger notes
 * when each outcome was written.
 *
 * Second deliveries. A message may be sent again only when its call was in a node's hands at a kill: it arrived before the next life of
 * the process began, its outcome was not committed, and it was not answered, or at most `recordBoundMs` before the kill. Whatever
 * else arrives twice is a fault, unless the call before it was answered with a failure: that is a retry.
 */
import pg from 'pg';

import type { Life } from './node-process.js';
import type { ReceivedCall } from './receiver.js';

export interface Case {
  readonly databaseUrl: string;
  readonly calls: readonly ReceivedCall[];
  readonly lives: readonly Life[];
  /** Message ids that the API answered with 200. */
  readonly accepted: readonly string[];
  /** Every-second schedules of which no second may be missing. */
  readonly seconds?: readonly EverySecond[];
  /** States a message may have at the end; `delivered` when left out. */
  readonly states?: readonly string[];
  /** How long a node may take from the receiver's answer to the commit; 5,000 ms when left out, which only a starved one needs. */
  readonly recordBoundMs?: number;
}

export interface EverySecond {
  readonly scheduleId: string;
  /** When its creation was answered: its first occurrence is not later than the second after. */
  readonly createdAtMs: number;
  /** Its last occurrence is not before this. */
  readonly untilMs: number;
}

export interface Verdict {
  /** Empty when every invariant holds; counts with examples otherwise. */
  readonly faults: readonly string[];
  readonly messages: number;
  readonly occurrences: number;
  readonly calls: number;
  readonly retries: number;
  /** Calls that repeat one that was in flight at a kill. */
  readonly secondDeliveries: number;
  /** Of those, how many the receiver had answered before the kill, and the longest time between answer and kill. */
  readonly answeredBeforeKill: { readonly count: number; readonly maxMs: number };
  /** First arrival minus due time. */
  readonly lateMs: { readonly p50: number; readonly p99: number; readonly max: number };
}

const RECORD_BOUND_MS = 5_000;
const EXAMPLES = 3;
const SECOND_MS = 1_000;

/** Notes the moment at which a message's delivery is written, in the same transaction, so that what was not committed is not noted. */
export const WITNESS = `
  create table witnessed_deliveries (message_id uuid primary key, at timestamptz not null);
  create function witness_delivery() returns trigger language plpgsql as $$
  begin
    insert into witnessed_deliveries values (new.id, clock_timestamp());
    return null;
  end $$;
  create trigger witness after update of state on messages for each row
    when (old.state <> 'delivered' and new.state = 'delivered') execute function witness_delivery();
`;

interface MessageRow {
  id: string;
  kind: string;
  state: string;
  readonly reason: string | null;
  attempts: number;
  schedule_id: string | null;
  occurrence_at: string | null;
  idempotency_key: string | null;
  due_at: string;
  delivered_at: string | null;
}

export async function judge(given: Case): Promise<Verdict> {
  const { rows, idle } = await readTable(given.databaseUrl);
  const faults = new Faults();
  const byMessage = groupByMessage(given.calls);
  const lateMs: number[] = [];
  oneRowEach(rows, faults);
  for (const id of idle) faults.add('active schedule without a next fire time', id);
  for (const row of rows)
    judgeRow(row, byMessage.get(wireId(row)) ?? [], given.states ?? ['delivered'], faults, lateMs);
  const known = new Set(rows.map(wireId));
  for (const id of given.accepted) if (!known.has(id)) faults.add('accepted, but no row', id);
  for (const id of byMessage.keys()) if (!known.has(id)) faults.add('called, but no row', id);
  oneMessageEach(given.calls, faults);
  for (const schedule of given.seconds ?? []) everySecond(schedule, rows, faults);
  const repeats = judgeRepeats(given, byMessage, faults);
  lateMs.sort((a, b) => a - b);
  const quantile = (share: number): number => lateMs[Math.floor(share * (lateMs.length - 1))] ?? 0;
  return {
    faults: faults.texts(),
    messages: rows.filter((row) => row.kind !== 'occurrence').length,
    occurrences: rows.filter((row) => row.kind === 'occurrence').length,
    calls: given.calls.length,
    ...repeats,
    lateMs: { p50: quantile(0.5), p99: quantile(0.99), max: quantile(1) },
  };
}

function groupByMessage(calls: readonly ReceivedCall[]): Map<string, ReceivedCall[]> {
  const groups = new Map<string, ReceivedCall[]>();
  for (const call of calls) {
    const group = groups.get(call.messageId);
    if (group === undefined) groups.set(call.messageId, [call]);
    else group.push(call);
  }
  return groups;
}

class Faults {
  readonly #examples = new Map<string, string[]>();
  readonly #counts = new Map<string, number>();

  add(kind: string, example: string): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    const examples = this.#examples.get(kind) ?? [];
    if (examples.length < EXAMPLES) this.#examples.set(kind, [...examples, example]);
  }

  texts(): string[] {
    return [...this.#counts].map(([kind, count]) => `${kind} (${count}): ${this.#examples.get(kind)?.join(' | ')}`);
  }
}

async function readTable(url: string): Promise<{ rows: MessageRow[]; idle: string[] }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<MessageRow>(
      `select id::text, kind, state, reason, attempts, schedule_id, idempotency_key,
         extract(epoch from occurrence_at) * 1000 as occurrence_at, extract(epoch from due_at) * 1000 as due_at,
         extract(epoch from at) * 1000 as delivered_at
       from messages left join witnessed_deliveries on message_id = id order by id`,
    );
    const idle = await client.query<{ id: string }>(
      `select id from schedules where state = 'active' and (next_fire_at is null or next_fire_at < now() - interval '5 seconds')`,
    );
    return { rows, idle: idle.rows.map(({ id }) => id) };
  } finally {
    await client.end();
  }
}

function wireId(row: MessageRow): string {
  return `msg_${row.id.replaceAll('-', '')}`;
}

/** Exactly one row for an occurrence, and at most one that is not skipped for a key. */
function oneRowEach(rows: readonly MessageRow[], faults: Faults): void {
  const seen = new Set<string>();
  for (const row of rows) {
    const names = [];
    if (row.occurrence_at !== null) names.push(`occurrence ${row.schedule_id} ${row.occurrence_at}`);
    if (row.idempotency_key !== null && row.state !== 'skipped') names.push(`key ${row.idempotency_key}`);
    for (const name of names) {
      if (seen.has(name)) faults.add('two rows', name);
      seen.add(name);
    }
  }
}

function judgeRow(
  row: MessageRow,
  calls: readonly ReceivedCall[],
  states: readonly string[],
  faults: Faults,
  lateMs: number[],
): void {
  const id = wireId(row);
  const dueAtMs = Number(row.due_at);
  // The schedules are paused in the end: what was due that moment and not fired yet is on the record, and is not sent.
  if (row.state === 'skipped' && row.reason === 'paused' && calls.length === 0) return;
  if (!states.includes(row.state)) {
    faults.add(`state ${row.state}`, `${id} ${row.schedule_id ?? ''} due ${new Date(dueAtMs).toISOString()}`);
  }
  if (row.state === 'delivered' && !calls.some((call) => call.status === 200)) {
    faults.add('delivered, but the receiver never answered 200', id);
  }
  const last = calls.at(-1);
  if (row.delivered_at !== null && last !== undefined && last.arrivedAtMs > Number(row.delivered_at)) {
    faults.add('sent again after its delivery was committed', id);
  }
  const first = calls[0];
  if (first === undefined) return;
  lateMs.push(first.arrivedAtMs - dueAtMs);
  if (first.arrivedAtMs < dueAtMs) faults.add('early', `${id} by ${dueAtMs - first.arrivedAtMs} ms`);
}

/** All calls for one occurrence carry one message id. */
function oneMessageEach(calls: readonly ReceivedCall[], faults: Faults): void {
  const ids = new Map<string, string>();
  for (const { scheduleId, occurrenceAtMs, messageId } of calls) {
    if (scheduleId === null || occurrenceAtMs === null) continue;
    const name = `${scheduleId} ${occurrenceAtMs}`;
    const known = ids.get(name);
    if (known !== undefined && known !== messageId) faults.add('one occurrence, two messages', name);
    ids.set(name, messageId);
  }
}

function everySecond(schedule: EverySecond, rows: readonly MessageRow[], faults: Faults): void {
  const { scheduleId, createdAtMs, untilMs } = schedule;
  const times = rows
    .filter((row) => row.schedule_id === scheduleId && row.kind === 'occurrence')
    .map((row) => Number(row.occurrence_at))
    .sort((a, b) => a - b);
  const at = (timeMs: number | undefined): string =>
    `${scheduleId} ${timeMs === undefined ? 'never' : new Date(timeMs).toISOString()}`;
  const latestFirstMs = Math.floor(createdAtMs / SECOND_MS) * SECOND_MS + SECOND_MS;
  if ((times[0] ?? Infinity) > latestFirstMs) faults.add('first second missing', at(times[0]));
  if ((times.at(-1) ?? 0) < untilMs) faults.add('last second missing', at(times.at(-1)));
  times.forEach((timeMs, index) => {
    const nextMs = times[index + 1];
    if (nextMs !== undefined && nextMs - timeMs !== SECOND_MS) faults.add('a gap in the seconds', at(timeMs));
  });
}

function judgeRepeats(
  given: Case,
  byMessage: ReadonlyMap<string, readonly ReceivedCall[]>,
  faults: Faults,
): Pick<Verdict, 'retries' | 'secondDeliveries' | 'answeredBeforeKill'> {
  let retries = 0;
  let secondDeliveries = 0;
  const beforeKillMs: number[] = [];
  for (const calls of byMessage.values()) {
    calls.forEach((call, index) => {
      const next = calls[index + 1];
      if (next === undefined) return;
      if (call.status !== null && call.status >= 300) {
        retries += 1;
        if (next.retried <= call.retried) faults.add('a retry that does not count on', describe(call, next));
        return;
      }
      const killedAtMs = killOf(call, next, given);
      if (killedAtMs === null) {
        faults.add('second delivery without a kill', describe(call, next));
        return;
      }
      secondDeliveries += 1;
      if (call.answeredAtMs !== null && call.answeredAtMs < killedAtMs) {
        beforeKillMs.push(killedAtMs - call.answeredAtMs);
      }
    });
  }
  const maxMs = beforeKillMs.reduce((max, ms) => Math.max(max, ms), 0);
  return { retries, secondDeliveries, answeredBeforeKill: { count: beforeKillMs.length, maxMs } };
}

/** When the kill was that excuses the repetition of a call; null when none does. */
function killOf(call: ReceivedCall, next: ReceivedCall, given: Case): number | null {
  const life = given.lives.findLast(({ spawnedAtMs }) => spawnedAtMs <= call.arrivedAtMs);
  if (life?.endedBy !== 'SIGKILL' || life.endedAtMs === null) return null;
  const boundMs = given.recordBoundMs ?? RECORD_BOUND_MS;
  const inFlight = call.answeredAtMs === null || call.answeredAtMs > life.endedAtMs - boundMs;
  return inFlight && next.arrivedAtMs >= life.endedAtMs ? life.endedAtMs : null;
}

function describe(call: ReceivedCall, next: ReceivedCall): string {
  const at = (timeMs: number | null): string => (timeMs === null ? 'never' : new Date(timeMs).toISOString());
  return `${call.messageId} ${call.scheduleId ?? ''} ${call.path} arrived ${at(call.arrivedAtMs)}, answered ${at(call.answeredAtMs)} (${call.status}), again ${at(next.arrivedAtMs)}`;
}
