// The messages and schedules that the comparison of PostgreSQL with its model works with.

import { messageId } from '../../src/domain/ids.js';
import type { Message } from '../../src/domain/message.js';
import type { ScheduleDefinition } from '../../src/domain/schedule.js';
import { aMessage } from '../kit/messages.js';
import { SHARDS } from './postgres-steps.js';

const CALLBACK = {
  url: 'http://cb.test/',
  method: null,
  headers: {},
  retries: null,
  retryDelay: null,
  timeoutMs: null,
};

/** Messages that a step may accept, again and again. One is of a tenant that does not exist. */
export function message(index: number, startMs: number): Message {
  const dueAtMs = startMs + 700 * index;
  return aMessage({
    id: messageId(dueAtMs, Buffer.alloc(10, index)),
    tenantId: index === 7 ? 3 : 1 + (index % 2),
    shard: index % SHARDS.length,
    dueAtMs,
    createdAtMs: startMs - 900 + 0.25 * index,
    idempotencyKey: index < 4 ? `k${index % 2}` : null,
    labels: index === 2 ? ['a', 'b'] : [],
    retryDelay: index === 3 ? '700' : null,
    callback: index === 5 ? { ...CALLBACK, delayMs: null } : null,
  });
}

export function definition(index: number, startMs: number): ScheduleDefinition {
  const { destination, method, headers, body } = aMessage();
  return {
    ...{ destination, method, headers, body, maxRetries: index, timeoutMs: 30_000, labels: ['x'], redact: null },
    ...{ retryDelay: null, callback: null, failureCallback: null, callerIp: null, timeZone: null, windowMs: 0 },
    cron: index === 3 ? '@every 2s' : '* * * * * *',
    delayMs: index === 2 ? 400 : 0,
    misfire: (['once', 'all', 'skip', 'once'] as const)[index] ?? 'once',
    misfireWindowMs: 5_000,
    overlap: (['queue', 'skip', 'allow', 'queue'] as const)[index] ?? 'allow',
    startAtMs: null,
    endAtMs: index === 3 ? startMs + 20_000 : null,
    keyTemplate: index === 2 ? 'run' : null,
    anchorMs: index === 3 ? startMs - 12_345 : null,
  };
}
