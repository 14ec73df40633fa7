// The unmodified official client keeps schedules.

import { Client, QstashError, Receiver } from '@upstash/qstash';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, TEST_SIGNING_KEYS, type TestNode } from '../kit/node.js';

let node: TestNode;
let client: Client;
beforeAll(async () => {
  node = await startTestNode();
  client = new Client({ baseUrl: node.url, token: node.token, devMode: false, retry: false });
});
afterAll(() => node.stop());

const status = async (work: Promise<unknown>): Promise<number | undefined> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof QstashError) return error.status;
    throw error;
  }
  return 200;
};

describe('schedules', () => {
  it('creates with every option, and gets what it created', async () => {
    const destination = `${node.sink.url}/p?z=1`;
    const { scheduleId } = await client.schedules.create({
      scheduleId: 'every-option',
      destination,
      cron: ' CRON_TZ=America/New_York 0 4 * * * ',
      delay: '1h',
      timeout: 30,
      retries: 2,
      retryDelay: '1000 * (1 + retried)',
      label: ['a', 'b'],
      method: 'PUT',
      callback: `${node.sink.url}/cb`,
      failureCallback: `${node.sink.url}/fcb`,
      headers: { 'test-header': 'test-value' },
      body: JSON.stringify({ hello: 1 }),
      redact: { header: ['X-Secret'] },
    });
    expect(scheduleId).toBe('every-option');
    const schedule = await client.schedules.get(scheduleId);
    expect(schedule).toMatchObject({
      scheduleId,
      destination,
      cron: 'CRON_TZ=America/New_York 0 4 * * *',
      delay: 3_600,
      retries: 2,
      retryDelayExpression: '1000 * (1 + retried)',
      label: 'a',
      labels: ['a', 'b'],
      method: 'PUT',
      callback: `${node.sink.url}/cb`,
      failureCallback: `${node.sink.url}/fcb`,
      body: '{"hello":1}',
      isPaused: false,
    });
    // Exactly the forwarded headers and Content-Type.
    expect(schedule.header).toEqual({ 'Test-Header': ['test-value'], 'Content-Type': ['application/json'] });
    expect(schedule.createdAt).toBeGreaterThan(Date.now() - 60_000);
    expect(new Date(schedule.nextScheduleTime ?? 0).toLocaleTimeString('en-GB', { timeZone: 'America/New_York' })).toBe(
      '04:00:00',
    );
    for (const absent of [
      'queueName',
      'flowControlKey',
      'parallelism',
      'rate',
      'period',
      'bodyBase64',
      'lastScheduleTime',
    ]) {
      expect(schedule).not.toHaveProperty(absent);
    }
    await client.schedules.delete(scheduleId);
  });

  it('creates again under the same id: everything is replaced', async () => {
    const destination = node.sink.url;
    await client.schedules.create({ scheduleId: 'twice', destination, cron: '* * * * *', body: 'x', label: 'l' });
    await client.schedules.create({ scheduleId: 'twice', destination: `${destination}/other`, cron: '0 0 * * *' });
    const schedule = await client.schedules.get('twice');
    expect(schedule).toMatchObject({ cron: '0 0 * * *', destination: `${destination}/other` });
    expect(schedule.body).toBeUndefined();
    expect(schedule.labels).toBeUndefined();
    expect((await client.schedules.list()).filter((listed) => listed.scheduleId === 'twice')).toHaveLength(1);
    await client.schedules.delete('twice');
  });

  it('lists, pauses, resumes and deletes', async () => {
    const { scheduleId } = await client.schedules.create({ destination: node.sink.url, cron: '0 0 * * *' });
    expect(scheduleId).toMatch(/^scd_/);
    const listed = async () => (await client.schedules.list()).find((schedule) => schedule.scheduleId === scheduleId);
    expect(await listed()).toMatchObject({ isPaused: false });
    for (let times = 0; times < 2; times++) await client.schedules.pause({ schedule: scheduleId });
    expect((await client.schedules.get(scheduleId)).isPaused).toBe(true);
    expect((await client.schedules.get(scheduleId)).nextScheduleTime).toBeUndefined();
    for (let times = 0; times < 2; times++) await client.schedules.resume({ schedule: scheduleId });
    expect(await listed()).toMatchObject({ isPaused: false });
    await client.schedules.delete(scheduleId);
    expect(await listed()).toBeUndefined();
    expect(await status(client.schedules.get(scheduleId))).toBe(404);
    expect(await status(client.schedules.delete(scheduleId))).toBe(404);
  });

  it('fires: signed, with its id, its body and its own message id each time', async () => {
    const destination = `${node.sink.url}/fires`;
    const { scheduleId } = await client.schedules.create({ destination, cron: '@every 1s', body: 'tick' });
    const calls = await node.sink.waitFor(2, (call) => call.scheduleId === scheduleId);
    await client.schedules.delete(scheduleId);
    expect(new Set(calls.map((call) => call.messageId)).size).toBe(calls.length);
    const receiver = new Receiver({
      currentSigningKey: TEST_SIGNING_KEYS.current,
      nextSigningKey: TEST_SIGNING_KEYS.next,
    });
    for (const call of calls) {
      const signature = call.headers['upstash-signature'] as string;
      expect(await receiver.verify({ signature, body: 'tick', url: destination })).toBe(true);
      expect(call.occurrence).toMatch(/^\d{4}-.*Z$/);
    }
  });

  it('refuses what can never work', async () => {
    const destination = node.sink.url;
    const bad: { cron: string; destination?: string; scheduleId?: string }[] = [
      { cron: 'not a cron' },
      { cron: '0 0 30 2 *' },
      { cron: 'CRON_TZ=Mars/Olympus 0 0 * * *' },
      { cron: '* * * * *', destination: 'ftp://a.test' },
      { cron: '* * * * *', scheduleId: 'a b' },
    ];
    for (const request of bad) expect(await status(client.schedules.create({ destination, ...request }))).toBe(400);
    expect(await status(client.schedules.create({ destination: 'group', cron: '* * * * *' }))).toBe(501);
    expect(await status(client.schedules.create({ destination, cron: '* * * * *', queueName: 'q' }))).toBe(501);
  });
});
