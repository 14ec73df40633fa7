// A table that is older than Redis, as after a backup was restored: the shards are taken nevertheless and filled from PostgreSQL.

import { expect, it } from 'vitest';
import { startTestNode } from '../../kit/node.js';

it('takes shards whose queue has newer epochs than PostgreSQL, and delivers', async () => {
  const before = await startTestNode();
  const prefix = before.config.CARILLON_REDIS_PREFIX;
  await before.restartNode();
  await before.restartNode();
  await before.stop();

  const after = await startTestNode({ CARILLON_REDIS_PREFIX: prefix });
  try {
    const response = await after.call('POST', `/v2/publish/${after.sink.url}/now`);
    const { messageId } = (await response.json()) as { messageId: string };
    await after.sink.waitFor(1, (call) => call.messageId === messageId);
    const later = await after.call('POST', `/v2/publish/${after.sink.url}/later`, {
      headers: { 'Upstash-Delay': '1s' },
    });
    const delayed = (await later.json()) as { messageId: string };
    await after.sink.waitFor(1, (call) => call.messageId === delayed.messageId);
    expect(after.sink.calls).toHaveLength(2);
  } finally {
    await after.stop();
  }
});
