// Keys name what work is for: whoever comes second gets the first one's answer, whatever they race over, and no work gets lost over it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyClaim } from '../../../src/postgres/messages/accepts.js';
import { Recorder } from '../../../src/postgres/messages/recorder.js';
import { openDatabase } from '../../kit/node.js';
import { aMessage, anOutcome, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { processTime } from '../../../src/time/process-time.js';

let table: OpenRecorder;
beforeAll(async () => {
  table = await openRecorder();
});
afterAll(() => table.close());

let counter = 0;
const newKey = (): string => `key-${counter++}`;

const key = (name: string): KeyClaim => ({ scope: 'key', key: name });
const deduplication = (name: string): KeyClaim => ({ scope: 'deduplication', key: name });

function submission(keys: KeyClaim[], given: Parameters<typeof aMessage>[0] = {}) {
  const idempotencyKey = keys.find(({ scope }) => scope === 'key')?.key ?? null;
  return { message: aMessage({ tenantId: table.tenantId, idempotencyKey, ...given }), keys };
}

async function stored(ids: readonly string[]): Promise<string[]> {
  const rows = await table.database.text<{ id: string }>(
    'select id::text from messages where id = any($1::uuid[]) order by id',
    [ids],
  );
  return rows.map((row) => row.id.replaceAll('-', ''));
}

describe('a key', () => {
  it('gives 100 submissions at once, over two recorders, one message and 100 equal answers', async () => {
    const name = newKey();
    const otherDatabase = openDatabase(table.url);
    const other = new Recorder(otherDatabase, table.clock, {
      time: processTime,
      deduplicationMs: 600_000,
      idempotencyMs: 3_600_000,
      onAvailability: () => undefined,
      onRefusal: () => undefined,
    });
    const submissions = Array.from({ length: 100 }, () => submission([key(name)]));
    const answers = await Promise.all(
      submissions.map(async (one, index) => (await (index % 2 ? other : table.recorder).accept([one]))[0]!),
    );
    await otherDatabase.close();
    expect(new Set(answers.map(({ messageId }) => messageId)).size).toBe(1);
    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    expect(await stored(submissions.map(({ message }) => message.id))).toEqual([answers[0]!.messageId]);
  });

  it('belongs to its tenant and its scope', async () => {
    const name = newKey();
    const rows = await table.database.text<{ id: number }>(`insert into tenants (name) values ('other') returning id`);
    const answers = await table.recorder.accept([
      submission([key(name)]),
      submission([key(name)], { tenantId: rows[0]!.id }),
      submission([deduplication(name)]),
    ]);
    expect(answers.map(({ deduplicated }) => deduplicated)).toEqual([false, false, false]);
  });

  it('is one of two: when the other is taken, the message is a duplicate and this one stays free', async () => {
    const [taken, free] = [newKey(), newKey()];
    const [first] = await table.recorder.accept([submission([key(taken)])]);
    const both = submission([key(taken), deduplication(free)]);
    expect(await table.recorder.accept([both])).toEqual([{ messageId: first!.messageId, deduplicated: true }]);
    expect(await stored([both.message.id])).toEqual([]);
    const [later] = await table.recorder.accept([submission([deduplication(free)])]);
    expect(later!.deduplicated).toBe(false);
  });

  it('that one of a group gives back is taken by the next in the same group', async () => {
    const [taken, shared] = [newKey(), newKey()];
    const [first] = await table.recorder.accept([submission([key(taken)])]);
    const both = submission([key(taken), deduplication(shared)]);
    const alone = submission([deduplication(shared)]);
    const again = submission([deduplication(shared)]);
    const answers = await table.recorder.accept([both, alone, again]);
    expect(answers[0]).toEqual({ messageId: first!.messageId, deduplicated: true });
    expect(answers[1]).toMatchObject({ messageId: alone.message.id, deduplicated: false });
    expect(answers[2]).toEqual({ messageId: alone.message.id, deduplicated: true });
    expect(await stored([both, alone, again].map(({ message }) => message.id))).toEqual([alone.message.id]);
  });

  it('of a deduplication is free again when its time is over', async () => {
    const name = newKey();
    await table.recorder.accept([submission([deduplication(name)])]);
    table.clock.value += 600_001;
    const [second] = await table.recorder.accept([submission([deduplication(name)])]);
    expect(second!.deduplicated).toBe(false);
  });

  it('of work is kept while the work lasts and its time after the end', async () => {
    const name = newKey();
    const first = submission([key(name)], { dueAtMs: table.clock.value });
    await table.recorder.accept([first]);
    table.clock.value += 10 * 3_600_000;
    expect((await table.recorder.accept([submission([key(name)])]))[0]!.deduplicated).toBe(true);

    await table.recorder.record(anOutcome(first.message, { endedAtMs: table.clock.value }));
    table.clock.value += 3_599_000;
    expect((await table.recorder.accept([submission([key(name)])]))[0]!.deduplicated).toBe(true);
    table.clock.value += 2_000;
    expect((await table.recorder.accept([submission([key(name)])]))[0]!.deduplicated).toBe(false);
  });

  it('comes with others in opposite orders without one waiting for the other for ever', async () => {
    const [a, b] = [newKey(), newKey()];
    const pairs = Array.from({ length: 40 }, (_, index) =>
      submission(index % 2 ? [deduplication(a), key(b)] : [key(b), deduplication(a)]),
    );
    const answers = await Promise.all(pairs.map((pair) => table.recorder.accept([pair])));
    expect(new Set(answers.map(([answer]) => answer!.messageId)).size).toBe(1);
  });
});

describe('a group', () => {
  it('loses one bad item and keeps its neighbours', async () => {
    const good = Array.from({ length: 9 }, () => submission([]));
    const bad = submission([], { method: 'PO\0ST' });
    const items = [...good.slice(0, 4), bad, ...good.slice(4)];
    const results = await Promise.allSettled(items.map((item) => table.recorder.accept([item])));
    expect(results.map(({ status }) => status)).toEqual(items.map((item) => (item === bad ? 'rejected' : 'fulfilled')));
    expect(await stored(items.map(({ message }) => message.id))).toEqual(good.map(({ message }) => message.id).sort());
  });

  it('holds one message once, though it is given again', async () => {
    const one = submission([]);
    await table.recorder.accept([one]);
    await table.recorder.accept([one, one]);
    expect(await stored([one.message.id])).toEqual([one.message.id]);
  });
});
