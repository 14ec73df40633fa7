/** Sends work to a test node and reads what became of it. */
import { expect, vi } from 'vitest';
import type { TestNode } from './node.js';

export interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  /** Of another tenant; the tenant "default" when left out. */
  readonly token?: string;
}

/** A row of `messages`, with what tests look at. */
export interface Row {
  readonly id: string;
  readonly tenant_id: number;
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
  readonly held: boolean;
  readonly in_dlq: boolean;
  readonly schedule_id: string | null;
  readonly occurrence_at: number | null;
  readonly covers_until: number | null;
  readonly idempotency_key: string | null;
  readonly due_at: number;
  readonly next_attempt_at: number;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly last_body: Buffer | null;
}

export interface ScheduleState {
  readonly generation: number;
  readonly state: string;
  readonly next_fire_at: number | null;
  readonly last_fire_at: number | null;
}

function withToken({ token, headers, body }: Sent): { headers: Record<string, string>; body?: string | Buffer } {
  return {
    headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    ...(body === undefined ? {} : { body }),
  };
}

/** Publishes to the sink's `path`; gives the message's id as in PostgreSQL. */
export async function publish(node: TestNode, path: string, sent: Sent = {}): Promise<string> {
  const response = await node.call('POST', `/v2/publish/${node.sink.url}${path}`, withToken(sent));
  const answer = (await response.json()) as { messageId?: string; error?: string };
  expect(answer, `publish answered ${response.status}`).toHaveProperty('messageId');
  return (answer.messageId ?? '').slice('msg_'.length);
}

/** Creates or replaces a schedule that calls the sink's `/id`. */
export async function schedule(node: TestNode, id: string, cron: string, sent: Sent = {}): Promise<void> {
  const headers = { 'Upstash-Cron': cron, 'Upstash-Schedule-Id': id, ...sent.headers };
  const response = await node.call('POST', `/v2/schedules/${node.sink.url}/${id}`, withToken({ ...sent, headers }));
  expect(response.status, await response.text()).toBe(200);
}

export async function rowOf(node: TestNode, id: string): Promise<Row | undefined> {
  return (await node.database.text<Row>('select * from messages where id = $1::uuid', [id]))[0];
}

/** A schedule's rows by nominal time (manual runs last). */
export async function rowsOf(node: TestNode, scheduleId: string): Promise<Row[]> {
  return node.database.text<Row>('select * from messages where schedule_id = $1 order by occurrence_at, id', [
    scheduleId,
  ]);
}

export async function scheduleOf(node: TestNode, scheduleId: string): Promise<ScheduleState | undefined> {
  return (await node.database.text<ScheduleState>('select * from schedules where id = $1', [scheduleId]))[0];
}

/** Waits until the message has reached this state. */
export function untilState(node: TestNode, id: string, state: string, timeoutMs = 15_000): Promise<Row> {
  return until(async () => {
    const row = await rowOf(node, id);
    expect(row?.state, `message ${id}`).toBe(state);
    return row!;
  }, timeoutMs);
}

/** Waits until the schedule has so many rows that fit, and gives them. */
export function untilRows(
  node: TestNode,
  scheduleId: string,
  count: number,
  fits: (row: Row) => boolean = () => true,
  timeoutMs = 20_000,
): Promise<Row[]> {
  return until(async () => {
    const rows = (await rowsOf(node, scheduleId)).filter(fits);
    expect(rows.length, `rows of ${scheduleId}`).toBeGreaterThanOrEqual(count);
    return rows;
  }, timeoutMs);
}

/** Looks again and again until nothing fails; unlike expect.poll, also where tests run beside each other. */
export function until<Result>(look: () => Promise<Result>, timeoutMs = 15_000): Promise<Result> {
  return vi.waitFor(look, { timeout: timeoutMs, interval: 40 });
}

/** I1 and I2 of the design: no two rows for one occurrence or key, and no active schedule without a next fire time. */
export async function expectInvariants(node: TestNode): Promise<void> {
  const twice = await node.database.text(
    `select tenant_id, schedule_id, occurrence_at, count(*) from messages
      where kind = 'occurrence' group by 1, 2, 3 having count(*) > 1`,
  );
  expect(twice, 'occurrences with more than one row').toEqual([]);
  const keys = await node.database.text(
    `select tenant_id, idempotency_key, count(*) from messages
      where idempotency_key is not null and state <> 'skipped' group by 1, 2 having count(*) > 1`,
  );
  expect(keys, 'keys with more than one row').toEqual([]);
  const still = await node.database.text(`select id from schedules where state = 'active' and next_fire_at is null`);
  expect(still, 'active schedules without a next time').toEqual([]);
}

/** Makes another tenant; gives its token. */
export async function newTenant(node: TestNode, name: string): Promise<string> {
  const headers = { authorization: `Bearer ${node.adminToken}`, 'content-type': 'application/json' };
  const made = await node.call('POST', '/admin/tenants', { headers, body: JSON.stringify({ name }) });
  expect(made.status, await made.text()).toBeLessThan(300);
  const response = await node.call('POST', `/admin/tenants/${name}/tokens`, { headers, body: '{}' });
  return ((await response.json()) as { token: string }).token;
}

/** Something that happens each second, for tests that must let time pass: wait for its next calls instead of sleeping. */
export interface Metronome {
  /** Resolves after so many more calls. */
  ticks(count: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startMetronome(node: TestNode): Promise<Metronome> {
  await schedule(node, 'metronome', '* * * * * *');
  const fits = ({ scheduleId }: { scheduleId: string | undefined }): boolean => scheduleId === 'metronome';
  return {
    ticks: async (count) => {
      await node.sink.waitFor(node.sink.calls.filter(fits).length + count, fits);
    },
    stop: async () => {
      await node.call('DELETE', '/v2/schedules/metronome');
    },
  };
}

/** A cron expression of the one second (of each day) that a time lies in. */
export function cronAt(timeMs: number): string {
  const time = new Date(timeMs);
  return `${time.getUTCSeconds()} ${time.getUTCMinutes()} ${time.getUTCHours()} * * *`;
}
