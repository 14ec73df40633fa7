// Turns a publish request, or one item of a batch, into a message and the keys under which it is accepted.

import type { Config } from '../config.js';
import type { RandomBytes, Clock } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import { ID_RANDOM_BYTES, messageId } from '../domain/ids.js';
import { MAX_KEY_BYTES } from '../domain/key-template.js';
import type { Request } from '../domain/message.js';
import { shardOfMessage } from '../domain/shard.js';
import type { KeyClaim, Submission } from '../intake/intake.js';
import { contentHash } from './content-hash.js';
import {
  readDeduplicationId,
  readDelayMs,
  readFlag,
  readKey,
  readPolicy,
  readRequest,
  tooFar,
  valueOf,
} from './delivery-headers.js';
import type { RequestSettings } from './request-settings.js';
import { SCHEDULE_ONLY_SETTINGS } from './schedule-headers.js';

export interface MessageSource {
  readonly tenantId: number;
  /** Checked by checkDestination. */
  readonly destination: string;
  readonly settings: RequestSettings;
  readonly body: Buffer;
  readonly callerIp: string | null;
}

export interface MessageSettings {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

/** Returns the submission. Throws CarillonError for any mistake of the client. */
export function readSubmission(source: MessageSource, { config, clock, random }: MessageSettings): Submission {
  const { settings, tenantId } = source;
  refuseScheduleSettings(settings);
  const createdAtMs = Math.floor(clock.nowMs());
  const request = readRequest(settings, source.destination, source.body, config);
  const policy = readPolicy(settings, config, source.callerIp);
  const dueAtMs = readDueAtMs(settings, createdAtMs, config);
  const idempotencyKey = readKey(settings, 'Carillon-Idempotency-Key', MAX_KEY_BYTES);
  const id = messageId(dueAtMs, random(ID_RANDOM_BYTES));
  return {
    message: {
      id,
      tenantId,
      shard: shardOfMessage(id, config.CARILLON_SHARDS),
      kind: 'message',
      scheduleId: null,
      occurrenceAtMs: null,
      idempotencyKey,
      sourceId: null,
      overlap: null,
      dueAtMs,
      createdAtMs,
      ...request,
      ...policy,
    },
    keys: readKeyClaims(settings, request, idempotencyKey),
  };
}

/**
 * Returns the due time. Upstash-Not-Before (Unix seconds) takes precedence over Upstash-Delay; a past time means now.
 */
function readDueAtMs(settings: RequestSettings, nowMs: number, config: Config): number {
  const delayMs = readDelayMs(settings, 'Upstash-Delay', config) ?? 0;
  const text = valueOf(settings, 'Upstash-Not-Before');
  if (text === null) return nowMs + delayMs;
  if (!/^\d{1,15}(?:\.\d{1,9})?$/.test(text)) {
    throw new CarillonError(
      'INVALID_REQUEST',
      `Upstash-Not-Before is ${JSON.stringify(text.slice(0, 40))}, expected a Unix time in seconds`,
    );
  }
  const notBeforeMs = Math.round(Number(text) * 1_000);
  if (notBeforeMs > nowMs + config.CARILLON_DELAY_MAX_MS) {
    throw tooFar('Upstash-Not-Before', text, config, '; it counts seconds, not milliseconds');
  }
  return Math.max(nowMs, notBeforeMs);
}

/**
 * Returns the keys. Upstash-Deduplication-Id takes precedence over the content, since it identifies the work
 * explicitly.
 */
function readKeyClaims(settings: RequestSettings, request: Request, idempotencyKey: string | null): KeyClaim[] {
  const claims: KeyClaim[] = [];
  if (idempotencyKey !== null) claims.push({ scope: 'key', key: idempotencyKey });
  const deduplicationId = readDeduplicationId(settings);
  const byContent = readFlag(settings, 'Upstash-Content-Based-Deduplication');
  if (deduplicationId !== null) claims.push({ scope: 'deduplication', key: deduplicationId });
  else if (byContent) claims.push({ scope: 'content', key: contentHash(request) });
  return claims;
}

function refuseScheduleSettings(settings: RequestSettings): void {
  for (const name of SCHEDULE_ONLY_SETTINGS) {
    if (valueOf(settings, name) === null) continue;
    throw new CarillonError(
      'INVALID_REQUEST',
      `${name} is for schedules only; give Upstash-Cron as well, or leave it out`,
    );
  }
}
