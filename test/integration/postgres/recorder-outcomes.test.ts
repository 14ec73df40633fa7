// Outcomes are facts: what a row says after them, whatever order they come in and whatever the destination answered.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Message } from '../../../src/domain/message.js';
import { confirmCancels } from '../../../src/postgres/messages/cancels.js';
import { aMessage, anOutcome, openRecorder, type OpenRecorder } from '../../kit/messages.js';

let table: OpenRecorder;
beforeAll(async () => {
  table = await openRecorder();
});
afterAll(() => table.close());

async function accepted(given: Partial<Message> = {}): Promise<Message> {
  const message = aMessage({ tenantId: table.tenantId, ...given });
  await table.recorder.accept([{ message, keys: [] }]);
  return message;
}

async function row(message: Message): Promise<Record<string, unknown> | undefined> {
  const rows = await table.database.text<Record<string, unknown>>('select * from messages where id = $1::uuid', [
    message.id,
  ]);
  return rows[0];
}

async function attempts(message: Message): Promise<unknown[]> {
  return table.database.text('select attempt, status from attempts where message_id = $1::uuid order by 1', [
    message.id,
  ]);
}

async function cancel(message: Message): Promise<void> {
  await table.database.run('cancel-messages', { tenantId: message.tenantId, ids: [message.id], nowMs: Date.now() });
}

const failed = { state: 'failed', attempt: 4 } as const;
const again = { state: 'pending' } as const;

describe('an outcome', () => {
  it('of success ends the message, without a row for the attempt', async () => {
    const message = await accepted();
    expect((await table.recorder.record(anOutcome(message, { body: Buffer.from('ok') }))).taken).toBe(true);
    expect(await row(message)).toMatchObject({
      state: 'delivered',
      attempts: 1,
      last_status: 200,
      last_body: Buffer.from('ok'),
      started_at: message.dueAtMs + 10,
      finished_at: message.dueAtMs + 20,
      node: 'node-under-test',
    });
    expect(await attempts(message)).toEqual([]);
  });

  it('of a failure that is tried again leaves the message pending and a row for the attempt', async () => {
    const message = await accepted();
    await table.recorder.record(anOutcome(message, again));
    expect(await row(message)).toMatchObject({
      state: 'pending',
      attempts: 1,
      next_attempt_at: message.dueAtMs + 1_020,
      finished_at: null,
      in_dlq: false,
    });
    expect(await attempts(message)).toEqual([{ attempt: 1, status: 500 }]);
  });

  it('of the last failure makes it a dead letter', async () => {
    const message = await accepted();
    await table.recorder.record(anOutcome(message, failed));
    expect(await row(message)).toMatchObject({ state: 'failed', attempts: 4, in_dlq: true });
  });

  // The trace: issue 12, entry 3.
  it('of a late success corrects a row that was given up or canceled, whose reason says what it was', async () => {
    const reasons = {
      failed: /^given up at .*Z, but a call that had begun before was answered$/,
      canceled: /^canceled at .*Z, but a call that had begun before was answered$/,
      unconfirmed: /^canceled at .*Z without confirmation from Redis, and sent nevertheless$/,
    };
    for (const end of ['failed', 'canceled', 'unconfirmed'] as const) {
      const message = await accepted();
      if (end === 'failed') await table.recorder.record(anOutcome(message, failed));
      else await cancel(message);
      if (end === 'canceled') await confirmCancels(table.database, table.tenantId, [message.id]);
      expect((await table.recorder.record(anOutcome(message, { attempt: 3 }))).taken).toBe(true);
      const reason = expect.stringMatching(reasons[end]) as unknown;
      expect(await row(message), end).toMatchObject({ state: 'delivered', in_dlq: false, reason });
    }
  });

  it('of a failure changes neither a delivered nor a canceled row', async () => {
    for (const end of ['delivered', 'canceled'] as const) {
      const message = await accepted();
      if (end === 'delivered') await table.recorder.record(anOutcome(message));
      else await cancel(message);
      for (const late of [failed, again]) {
        expect((await table.recorder.record(anOutcome(message, late))).taken).toBe(false);
      }
      expect(await row(message), end).toMatchObject({ state: end, in_dlq: false });
    }
  });

  it('that comes twice is one', async () => {
    const message = await accepted();
    await table.recorder.record(anOutcome(message, again));
    await table.recorder.record(anOutcome(message, again));
    expect(await attempts(message)).toHaveLength(1);
    await Promise.all([table.recorder.record(anOutcome(message)), table.recorder.record(anOutcome(message))]);
    expect(await row(message)).toMatchObject({ state: 'delivered' });
  });

  it('that was refused for a row gives birth to no callback', async () => {
    const message = await accepted();
    const callback = aMessage({ tenantId: table.tenantId, kind: 'callback', sourceId: message.id });
    await cancel(message);
    await table.recorder.record(anOutcome(message, { ...failed, callbacks: [callback] }));
    expect(await row(callback)).toBeUndefined();
    await table.recorder.record(anOutcome(message, { callbacks: [callback] }));
    expect(await row(callback)).toMatchObject({ state: 'pending', kind: 'callback' });
  });

  it('of a message that is gone (its week was dropped) is let go', async () => {
    expect((await table.recorder.record(anOutcome(aMessage({ tenantId: table.tenantId })))).taken).toBe(false);
  });
});

describe('what a destination answers', () => {
  it('is stored as the bytes it was, and its texts without what PostgreSQL cannot hold (report 27)', async () => {
    const body = Buffer.from([0, 0xff, 0xed, 0xa0, 0x80, 0x00, 0x80]);
    for (const outcome of [failed, again, { state: 'delivered' } as const]) {
      const message = await accepted();
      const given = {
        ...outcome,
        body,
        error: 'NUL \0 and half \ud800',
        headers: { 'X-\0': ['a\0b', '\udfff', '\\u0000'] },
      };
      expect((await table.recorder.record(anOutcome(message, given))).taken).toBe(true);
      expect(await row(message)).toMatchObject({
        state: given.state,
        last_body: body,
        last_error: 'NUL \ufffd and half \ufffd',
        last_headers: { 'X-\ufffd': ['a\ufffdb', '\ufffd', '\\u0000'] },
      });
    }
    expect(table.refusals).toEqual([]);
  });

  it('never keeps a delivery from its end: what PostgreSQL refuses all the same is left out', async () => {
    const message = await accepted();
    const neighbor = await accepted();
    const callbacks = [aMessage({ tenantId: table.tenantId, method: 'a\0b' })];
    const [bare, whole] = await Promise.all([
      table.recorder.record(anOutcome(message, { ...failed, callbacks })),
      table.recorder.record(anOutcome(neighbor, failed)),
    ]);
    expect([bare.taken, whole.taken]).toEqual([true, true]);
    expect(await row(message)).toMatchObject({
      state: 'failed',
      last_status: 500,
      last_error: 'what came back could not be recorded',
    });
    expect(await row(neighbor)).toMatchObject({ state: 'failed', last_error: 'the destination answered 500' });
    // As it was, and without what came back but with the callback that was at fault.
    expect(table.refusals).toHaveLength(2);
  });
});
