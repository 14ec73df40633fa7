// Written by npm run sql-types: what each statement takes and returns, as a migrated database describes it.

import type { ScheduleChange } from '../domain/explain-facts.js';
import type { HeaderMap, MessageKind, MessageState } from '../domain/message.js';
import type { MisfirePolicy } from '../domain/misfire.js';
import type { OverlapPolicy } from '../domain/overlap.js';
import type { ScheduleState } from '../domain/schedule.js';
import type { DeliveryOptions } from './messages/delivery-options.js';

export interface Statements {
  'cancel-messages': {
    params: { nowMs: number; ids: readonly string[]; tenantId: number };
    row: {
      id: string;
      shard: number;
      overlap: Exclude<OverlapPolicy, 'allow'> | null;
      schedule_id: string | null;
      idempotency_key: string | null;
      attempts: number;
      due_at: number;
      next_attempt_at: number;
      created_at: number;
      body_bytes: number;
    };
  };
  'claim-keys': {
    params: {
      nowMs: number;
      tenantIds: readonly number[];
      scopes: readonly string[];
      keys: readonly string[];
      messageIds: readonly string[];
      expiresAtMs: readonly (number | null)[];
    };
    row: { tenant_id: number; scope: string; key: string };
  };
  'confirm-cancels': { params: { ids: readonly string[]; tenantId: number }; row: { id: string } };
  'count-runs': {
    params: {
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
      tenantId: number;
      lowId: string;
      belowId: string;
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      limit: number;
    };
    row: { state: MessageState; count: number; looked_at: number };
  };
  'delete-environment-tokens': {
    params: { tenantId: number | null; keptHash: Buffer | null };
    row: { deleted: number };
  };
  'delete-expired-keys': { params: { beforeMs: number; limit: number }; row: { scope: string } };
  'delete-old-schedule-changes': { params: { beforeMs: number; limit: number }; row: { at: number } };
  'delete-schedule': {
    params: { tenantId: number; id: string };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'delete-token': { params: { tenantId: number | null; id: string }; row: { deleted: number } };
  'end-abandoned': {
    params: { shards: readonly number[]; idleMs: number };
    row: { name: string; idle_ms: number; ended: boolean };
  };
  'expire-keys': {
    params: {
      tenantIds: readonly number[];
      keys: readonly string[];
      messageIds: readonly string[];
      expiresAtMs: readonly number[];
    };
    row: Record<string, never>;
  };
  'fire-schedules': {
    params: {
      fencedShards: readonly number[];
      epochs: readonly number[];
      tenantIds: readonly number[];
      ids: readonly string[];
      generations: readonly number[];
      expectedFireAtMs: readonly (number | null)[];
      nextFireAtMs: readonly (number | null)[];
      lastFireAtMs: readonly number[];
      shards: readonly number[];
    };
    row: { shard: number; tenant_id: number | null; id: string | null };
  };
  'give-up-message': {
    params: { reason: string; nowMs: number; id: string };
    row: {
      id: string;
      tenant_id: number;
      overlap: Exclude<OverlapPolicy, 'allow'> | null;
      schedule_id: string | null;
      idempotency_key: string | null;
    };
  };
  'grant-epochs': { params: { node: string; shards: readonly number[] }; row: { shard: number; epoch: number } };
  'group-dead-letters': {
    params: { tenantId: number; beyondId: string; countedMax: number; groupsMax: number };
    row: {
      destination: string;
      status: number;
      error: string;
      count: number;
      first_at: number;
      latest_at: number;
      looked_at: number;
    };
  };
  'insert-attempts': {
    params: {
      messageIds: readonly string[];
      attempts: readonly number[];
      tenantIds: readonly number[];
      startedAtMs: readonly number[];
      finishedAtMs: readonly number[];
      statuses: readonly (number | null)[];
      errors: readonly (string | null)[];
      headers: readonly (string | null)[];
      bodies: readonly (Buffer | null)[];
      nextAttemptAtMs: readonly (number | null)[];
      nodes: readonly string[];
    };
    row: Record<string, never>;
  };
  'insert-cluster': { params: { shards: number }; row: Record<string, never> };
  'insert-environment-token': {
    params: { hash: Buffer; tenantId: number | null; role: string };
    row: { known: number };
  };
  'insert-messages': {
    params: {
      ids: readonly string[];
      tenantIds: readonly number[];
      shards: readonly number[];
      kinds: readonly MessageKind[];
      states: readonly MessageState[];
      reasons: readonly (string | null)[];
      held: readonly boolean[];
      scheduleIds: readonly (string | null)[];
      occurrenceAtMs: readonly (number | null)[];
      coversUntilMs: readonly (number | null)[];
      overlaps: readonly (Exclude<OverlapPolicy, 'allow'> | null)[];
      idempotencyKeys: readonly (string | null)[];
      sourceIds: readonly (string | null)[];
      dueAtMs: readonly number[];
      createdAtMs: readonly number[];
      destinations: readonly string[];
      methods: readonly string[];
      headers: readonly string[];
      bodies: readonly Buffer[];
      maxRetries: readonly number[];
      timeoutMs: readonly number[];
      labels: readonly (string | null)[];
      options: readonly (string | null)[];
    };
    row: { id: string };
  };
  'insert-migration': { params: { version: number; name: string }; row: Record<string, never> };
  'insert-new-messages': {
    params: {
      ids: readonly string[];
      tenantIds: readonly number[];
      shards: readonly number[];
      kinds: readonly MessageKind[];
      states: readonly MessageState[];
      reasons: readonly (string | null)[];
      held: readonly boolean[];
      scheduleIds: readonly (string | null)[];
      occurrenceAtMs: readonly (number | null)[];
      coversUntilMs: readonly (number | null)[];
      overlaps: readonly (Exclude<OverlapPolicy, 'allow'> | null)[];
      idempotencyKeys: readonly (string | null)[];
      sourceIds: readonly (string | null)[];
      dueAtMs: readonly number[];
      createdAtMs: readonly number[];
      destinations: readonly string[];
      methods: readonly string[];
      headers: readonly string[];
      bodies: readonly Buffer[];
      maxRetries: readonly number[];
      timeoutMs: readonly number[];
      labels: readonly (string | null)[];
      options: readonly (string | null)[];
    };
    row: Record<string, never>;
  };
  'insert-schedule': {
    params: {
      tenantId: number;
      id: string;
      shard: number;
      state: ScheduleState;
      nextFireAtMs: number | null;
      anchorAtMs: number | null;
      nowMs: number;
      cron: string;
      timeZone: string | null;
      destination: string;
      method: string;
      headers: string;
      body: Buffer;
      maxRetries: number;
      timeoutMs: number;
      labels: readonly string[];
      options: string;
      delayMs: number;
      misfire: MisfirePolicy;
      misfireWindowMs: number;
      overlap: OverlapPolicy;
      windowMs: number;
      startAtMs: number | null;
      endAtMs: number | null;
      keyTemplate: string | null;
    };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'insert-schedule-change': {
    params: {
      tenantId: number;
      scheduleId: string;
      atMs: number;
      generation: number;
      change: ScheduleChange['change'];
      detail: string;
    };
    row: Record<string, never>;
  };
  'insert-schedule-changes': {
    params: {
      tenantId: number;
      atMs: number;
      scheduleIds: readonly string[];
      generations: readonly number[];
      changes: readonly ScheduleChange['change'][];
      details: readonly string[];
    };
    row: Record<string, never>;
  };
  'insert-schedules': {
    params: {
      tenantId: number;
      nowMs: number;
      ids: readonly string[];
      shards: readonly number[];
      states: readonly ScheduleState[];
      nextFireAtMs: readonly (number | null)[];
      crons: readonly string[];
      timeZones: readonly (string | null)[];
      destinations: readonly string[];
      methods: readonly string[];
      headers: readonly string[];
      bodies: readonly Buffer[];
      maxRetries: readonly number[];
      timeoutMs: readonly number[];
      labels: readonly string[];
      options: readonly string[];
      delayMs: readonly number[];
      misfires: readonly MisfirePolicy[];
      misfireWindowMs: readonly number[];
      overlaps: readonly OverlapPolicy[];
      windowMs: readonly number[];
      startAtMs: readonly (number | null)[];
      endAtMs: readonly (number | null)[];
      keyTemplates: readonly (string | null)[];
      anchorAtMs: readonly (number | null)[];
    };
    row: { id: string; generation: number };
  };
  'insert-shards': { params: Record<string, never>; row: Record<string, never> };
  'insert-signing-keys': { params: { tenantId: number; current: string; next: string }; row: Record<string, never> };
  'insert-tenant': { params: { name: string }; row: { id: number; name: string; created_at: number } };
  'insert-token': {
    params: {
      hash: Buffer;
      tenantId: number | null;
      role: string;
      label: string;
      expiresAtMs: number | null;
      tokensMax: number;
    };
    row: { inserted: number };
  };
  'lock-admin-tokens': { params: Record<string, never>; row: { hash: Buffer; expires_at: number | null } };
  'lock-environment-tokens': { params: Record<string, never>; row: { locked: number } };
  'lock-migrations': { params: { lock: number }; row: { locked: boolean } };
  'lock-partitions': { params: { lock: number }; row: { locked: number } };
  'lock-schedule': {
    params: { tenantId: number; id: string };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'lock-schedules': {
    params: { tenantId: number; ids: readonly string[] };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'note-schedule-error': { params: { error: string; tenantId: number; id: string }; row: { id: string } };
  'overtake-epochs': {
    params: { shards: readonly number[]; epochs: readonly number[]; node: string };
    row: { shard: number; epoch: number };
  };
  'record-outcomes': {
    params: {
      ids: readonly string[];
      states: readonly MessageState[];
      attempts: readonly number[];
      statuses: readonly (number | null)[];
      errors: readonly (string | null)[];
      headers: readonly (string | null)[];
      bodies: readonly (Buffer | null)[];
      startedAtMs: readonly number[];
      endedAtMs: readonly number[];
      nextAttemptAtMs: readonly (number | null)[];
      nodes: readonly string[];
    };
    row: { id: string };
  };
  'record-token-use': { params: { nowMs: number; hash: Buffer }; row: Record<string, never> };
  'release-held': {
    params: { untilId: string; tenantIds: readonly number[]; scheduleIds: readonly string[] };
    row: { tenant_id: number; schedule_id: string; id: string; shard: number; due_at: number };
  };
  'release-keys': {
    params: {
      tenantIds: readonly number[];
      scopes: readonly string[];
      keys: readonly string[];
      messageIds: readonly string[];
    };
    row: Record<string, never>;
  };
  'renew-epochs': {
    params: { shards: readonly number[]; epochs: readonly number[]; node: string };
    row: { shard: number; epoch: number };
  };
  'repoint-keys': {
    params: {
      tenantIds: readonly number[];
      keys: readonly string[];
      fromIds: readonly string[];
      toIds: readonly string[];
    };
    row: Record<string, never>;
  };
  'rotate-signing-keys': { params: { next: string; tenantId: number }; row: { current: string; next: string } };
  'select-attempt-marks': {
    params: { tenantId: number; belowId: string; fromMs: number; untilMs: number; limit: number };
    row: { id: string; attempt: number; started_at: number; finished_at: number; retried: boolean };
  };
  'select-attempt-marks-of-messages': {
    params: { messageIds: readonly string[] };
    row: { id: string; attempt: number; started_at: number; finished_at: number; retried: boolean };
  };
  'select-attempt-marks-of-moment': {
    params: {
      tenantId: number;
      lowId: string;
      highId: string;
      fromMs: number;
      untilMs: number;
      lowestFirst: boolean;
      limit: number;
    };
    row: { id: string; attempt: number; started_at: number; finished_at: number; retried: boolean };
  };
  'select-attempts': {
    params: { messageIds: readonly string[]; attempts: readonly number[] };
    row: {
      messageId: string;
      attempt: number;
      startedAtMs: number;
      endedAtMs: number;
      status: number | null;
      error: string | null;
      headers: HeaderMap | null;
      body: Buffer | null;
      nextAttemptAtMs: number | null;
      node: string | null;
    };
  };
  'select-attempts-of': {
    params: { tenantId: number; messageId: string; limit: number };
    row: {
      messageId: string;
      attempt: number;
      startedAtMs: number;
      endedAtMs: number;
      status: number | null;
      error: string | null;
      headers: HeaderMap | null;
      body: Buffer | null;
      nextAttemptAtMs: number | null;
      node: string | null;
    };
  };
  'select-brin-indexes': { params: { partition: string }; row: { name: string } };
  'select-cancelable': {
    params: {
      tenantId: number;
      createdFromMs: number | null;
      createdToMs: number | null;
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
      limit: number;
    };
    row: { id: string };
  };
  'select-clock': { params: Record<string, never>; row: { at: number } };
  'select-cluster': { params: Record<string, never>; row: { shards: number } };
  'select-dead-letter-page': {
    params: {
      tenantId: number;
      beyondId: string;
      diedFromMs: number | null;
      diedToMs: number | null;
      afterMs: number | null;
      afterId: string | null;
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      stepRows: number;
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
      limit: number;
    };
    row: { id: string; finished_at: number; body_bytes: number; is_last: boolean; looked_at: number };
  };
  'select-dead-letters': {
    params: { tenantId: number; ids: readonly string[] };
    row: {
      body: Buffer;
      idempotency_key: string | null;
      occurrence_at: number | null;
      finished_at: number | null;
      attempts: number;
      last_status: number | null;
      last_error: string | null;
      last_headers: HeaderMap | null;
      last_body: Buffer | null;
      id: string;
      state: MessageState;
      kind: MessageKind;
      schedule_id: string | null;
      due_at: number;
      created_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      max_retries: number;
      timeout_ms: number;
      labels: string[] | null;
      options: DeliveryOptions | null;
    };
  };
  'select-dispatch': {
    params: { ids: readonly string[] };
    row: {
      id: string;
      tenant_id: number;
      shard: number;
      kind: MessageKind;
      state: MessageState;
      held: boolean;
      schedule_id: string | null;
      occurrence_at: number | null;
      overlap: Exclude<OverlapPolicy, 'allow'> | null;
      idempotency_key: string | null;
      source_id: string | null;
      due_at: number;
      next_attempt_at: number;
      created_at: number;
      attempts: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[] | null;
      options: DeliveryOptions | null;
    };
  };
  'select-event-messages': {
    params: { maxBodyBytes: number; messageIds: readonly string[] };
    row: {
      body: Buffer | null;
      last_status: number | null;
      last_error: string | null;
      last_headers: HeaderMap | null;
      last_body: Buffer | null;
      id: string;
      state: MessageState;
      kind: MessageKind;
      schedule_id: string | null;
      due_at: number;
      created_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      max_retries: number;
      timeout_ms: number;
      labels: string[] | null;
      options: DeliveryOptions | null;
    };
  };
  'select-keys': {
    params: { tenantIds: readonly number[]; scopes: readonly string[]; keys: readonly string[] };
    row: { tenant_id: number; scope: string; key: string; message_id: string };
  };
  'select-labelled': {
    params: { tenantId: number; lowId: string; belowId: string; labels: readonly string[]; limit: number };
    row: { id: string };
  };
  'select-marks-of-messages': {
    params: {
      tenantId: number;
      ids: readonly string[];
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
    };
    row: {
      id: string;
      state: MessageState;
      created_at: number;
      started_at: number | null;
      finished_at: number | null;
      attempts: number;
    };
  };
  'select-matching': {
    params: {
      tenantId: number;
      ids: readonly string[];
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
    };
    row: { id: string };
  };
  'select-message': {
    params: { tenantId: number; id: string };
    row: {
      body: Buffer;
      id: string;
      state: MessageState;
      kind: MessageKind;
      schedule_id: string | null;
      due_at: number;
      created_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      max_retries: number;
      timeout_ms: number;
      labels: string[] | null;
      options: DeliveryOptions | null;
    };
  };
  'select-message-marks': {
    params: {
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
      tenantId: number;
      lowId: string;
      belowId: string;
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      createdFromMs: number;
      createdUntilMs: number;
      startedFromMs: number;
      startedUntilMs: number;
      endedFromMs: number;
      endedUntilMs: number;
      limit: number;
    };
    row: {
      id: string;
      state: MessageState;
      created_at: number;
      started_at: number | null;
      finished_at: number | null;
      attempts: number;
      matches: boolean;
    };
  };
  'select-message-marks-of-moment': {
    params: {
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
      tenantId: number;
      lowId: string;
      highId: string;
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      createdFromMs: number;
      createdUntilMs: number;
      startedFromMs: number;
      startedUntilMs: number;
      endedFromMs: number;
      endedUntilMs: number;
      lowestFirst: boolean;
      limit: number;
    };
    row: {
      id: string;
      state: MessageState;
      created_at: number;
      started_at: number | null;
      finished_at: number | null;
      attempts: number;
      matches: boolean;
    };
  };
  'select-message-of-occurrence': {
    params: {
      tenantId: number;
      scheduleId: string;
      lowId: string;
      rowsAfter: number;
      occurrenceAtMs: number;
      rowsBefore: number;
    };
    row: { id: string };
  };
  'select-messages-of-keys': { params: { tenantId: number; keys: readonly string[] }; row: { id: string } };
  'select-messages-to-promote': {
    params: { shard: number; fromId: string; untilId: string; horizonAtMs: number; limit: number };
    row: { id: string; next_attempt_at: number };
  };
  'select-messages-to-rescue': {
    params: {
      shard: number;
      afterId: string;
      untilId: string;
      overdueAtMs: number;
      createdBeforeMs: number;
      occurrencesBeforeMs: number;
      limit: number;
    };
    row: { id: string; next_attempt_at: number; held: boolean; tenant_id: number; schedule_id: string | null };
  };
  'select-occurrence-around': {
    params: {
      tenantId: number;
      scheduleId: string;
      lowId: string;
      rowsBefore: number;
      rowsAfter: number;
      fromMs: number;
      toMs: number;
    };
    row: { what: 'exact' | 'covers' | 'before'; id: string; held: boolean };
  };
  'select-overtaken-shards': {
    params: { shards: readonly number[]; epochs: readonly number[] };
    row: { shard: number };
  };
  'select-partitions': { params: { tables: readonly string[] }; row: { name: string } };
  'select-pending-messages': {
    params: { tenantId: number; ids: readonly string[] };
    row: {
      body: Buffer;
      idempotency_key: string | null;
      id: string;
      state: MessageState;
      kind: MessageKind;
      schedule_id: string | null;
      due_at: number;
      created_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      max_retries: number;
      timeout_ms: number;
      labels: string[] | null;
      options: DeliveryOptions | null;
    };
  };
  'select-pending-places': {
    params: { tenantId: number; kinds: readonly MessageKind[]; afterShard: number; afterId: string; limit: number };
    row: { shard: number; id: string; body_bytes: number | null };
  };
  'select-retried-from': { params: { tenantId: number; ids: readonly string[] }; row: { id: string } };
  'select-run-page': {
    params: {
      tenantId: number;
      lowId: string;
      belowId: string;
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      stepRows: number;
      walkedLabels: readonly string[] | null;
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
      limit: number;
    };
    row: { ids: string[]; looked_at: number; last_id: string | null };
  };
  'select-runs': {
    params: { ids: readonly string[]; answerBytes: number; tenantId: number };
    row: {
      id: string;
      kind: MessageKind;
      state: MessageState;
      reason: string | null;
      isDeadLetter: boolean;
      scheduleId: string | null;
      occurrenceAtMs: number | null;
      coversUntilMs: number | null;
      idempotencyKey: string | null;
      sourceId: string | null;
      dueAtMs: number;
      createdAtMs: number;
      startedAtMs: number | null;
      endedAtMs: number | null;
      nextAttemptAtMs: number;
      attempts: number;
      maxRetries: number;
      lastStatus: number | null;
      lastError: string | null;
      lastHeaders: HeaderMap | null;
      lastBody: Buffer | null;
      node: string | null;
      destination: string;
      method: string;
      labels: string[];
    };
  };
  'select-schedule': {
    params: { tenantId: number; id: string };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'select-schedule-changes': {
    params: { tenantId: number; scheduleId: string; limit: number };
    row: {
      at: number;
      generation: number;
      change: ScheduleChange['change'];
      detail: { cron?: string; timeZone?: string | null };
    };
  };
  'select-schedule-ids': {
    params: { tenantId: number; fromId: string; afterId: string; beforeId: string | null; limit: number };
    row: { id: string };
  };
  'select-schedule-ids-by-mark': {
    params: {
      marks: readonly string[];
      tenantId: number;
      fromId: string;
      afterId: string;
      beforeId: string | null;
      limit: number;
    };
    row: { id: string };
  };
  'select-schedule-ids-by-state': {
    params: {
      states: readonly ScheduleState[];
      tenantId: number;
      fromId: string;
      afterId: string;
      beforeId: string | null;
      limit: number;
    };
    row: { id: string };
  };
  'select-schedule-states': {
    params: {
      scheduleIds: readonly string[];
      fromIds: readonly string[];
      untilIds: readonly string[];
      tenantId: number;
      limit: number;
    };
    row: { schedule_id: string; id: string; state: MessageState };
  };
  'select-schedules': {
    params: { tenantId: number; ids: readonly string[] };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'select-schedules-to-fire': {
    params: { tenantIds: readonly number[]; ids: readonly string[] };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'select-schedules-to-promote': {
    params: { shard: number; fromMs: number; untilMs: number; afterTenantId: number; afterId: string; limit: number };
    row: { tenant_id: number; id: string; next_fire_at: number; generation: number };
  };
  'select-schema-version': { params: Record<string, never>; row: { version: number | null } };
  'select-shard': {
    params: { shard: number };
    row: { shard: number; epoch: number; node: string | null; granted_at: number | null };
  };
  'select-shards': { params: Record<string, never>; row: { shard: number; epoch: number; node: string | null } };
  'select-signing-keys': { params: { tenantId: number }; row: { current: string; next: string } };
  'select-summaries': { params: Record<string, never>; row: { name: string; bytes: number; automatic: boolean } };
  'select-tenant': { params: { name: string }; row: { id: number; name: string; created_at: number } };
  'select-tenants': { params: Record<string, never>; row: { id: number; name: string; created_at: number } };
  'select-token': {
    params: { hash: Buffer };
    row: { hash: Buffer; tenant_id: number | null; expires_at: number | null; last_used_at: number | null };
  };
  'select-tokens': {
    params: { tenantId: number | null };
    row: {
      hash: Buffer;
      label: string;
      source: 'created' | 'environment';
      created_at: number;
      expires_at: number | null;
      last_used_at: number | null;
    };
  };
  'select-unconfirmed-cancels': {
    params: { ids: readonly string[]; tenantId: number };
    row: {
      id: string;
      shard: number;
      overlap: Exclude<OverlapPolicy, 'allow'> | null;
      schedule_id: string | null;
      idempotency_key: string | null;
      attempts: number;
      due_at: number;
      next_attempt_at: number;
      created_at: number;
      body_bytes: number;
    };
  };
  'select-unconfirmed-matching': {
    params: {
      tenantId: number;
      canceledFromMs: number;
      createdFromMs: number | null;
      createdToMs: number | null;
      messageIds: readonly string[] | null;
      scheduleId: string | null;
      scheduleIds: readonly string[] | null;
      labels: readonly string[] | null;
      urls: readonly string[] | null;
      hosts: readonly string[] | null;
      paths: readonly string[] | null;
      callerIps: readonly string[] | null;
      idempotencyKeys: readonly string[] | null;
      states: readonly MessageState[] | null;
      lastStatuses: readonly number[] | null;
      limit: number;
    };
    row: { id: string };
  };
  'select-under-way': {
    params: { tenantIds: readonly number[]; ids: readonly string[]; untilId: string };
    row: { tenant_id: number; id: string; waiting: number };
  };
  'select-wanted-schedules': {
    params: {
      tenantId: number;
      ids: readonly string[];
      states: readonly ScheduleState[] | null;
      destinations: readonly string[] | null;
      hosts: readonly string[] | null;
      labels: readonly string[] | null;
      search: string | null;
      limit: number;
    };
    row: { id: string; body_bytes: number };
  };
  'select-writability': { params: Record<string, never>; row: { read_only: string } };
  'set-schedule-state': {
    params: { state: ScheduleState; nextFireAtMs: number | null; nowMs: number; tenantId: number; id: string };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'take-dead-letters': { params: { ids: readonly string[]; tenantId: number }; row: { id: string } };
  'update-schedule': {
    params: {
      shard: number;
      state: ScheduleState;
      nextFireAtMs: number | null;
      nowMs: number;
      cron: string;
      timeZone: string | null;
      destination: string;
      method: string;
      headers: string;
      body: Buffer;
      maxRetries: number;
      timeoutMs: number;
      labels: readonly string[];
      options: string;
      delayMs: number;
      misfire: MisfirePolicy;
      misfireWindowMs: number;
      overlap: OverlapPolicy;
      windowMs: number;
      startAtMs: number | null;
      endAtMs: number | null;
      keyTemplate: string | null;
      anchorAtMs: number | null;
      tenantId: number;
      id: string;
    };
    row: {
      tenant_id: number;
      id: string;
      shard: number;
      generation: number;
      state: ScheduleState;
      cron: string;
      time_zone: string | null;
      anchor_at: number;
      destination: string;
      method: string;
      headers: HeaderMap;
      body: Buffer;
      max_retries: number;
      timeout_ms: number;
      labels: string[];
      options: DeliveryOptions;
      delay_ms: number;
      misfire: MisfirePolicy;
      misfire_window_ms: number;
      overlap: OverlapPolicy;
      window_ms: number;
      start_at: number | null;
      end_at: number | null;
      key_template: string | null;
      next_fire_at: number | null;
      last_fire_at: number | null;
      created_at: number;
      updated_at: number;
      error: string | null;
    };
  };
  'update-schedules': {
    params: {
      nowMs: number;
      ids: readonly string[];
      shards: readonly number[];
      states: readonly ScheduleState[];
      nextFireAtMs: readonly (number | null)[];
      crons: readonly string[];
      timeZones: readonly (string | null)[];
      destinations: readonly string[];
      methods: readonly string[];
      headers: readonly string[];
      bodies: readonly Buffer[];
      maxRetries: readonly number[];
      timeoutMs: readonly number[];
      labels: readonly string[];
      options: readonly string[];
      delayMs: readonly number[];
      misfires: readonly MisfirePolicy[];
      misfireWindowMs: readonly number[];
      overlaps: readonly OverlapPolicy[];
      windowMs: readonly number[];
      startAtMs: readonly (number | null)[];
      endAtMs: readonly (number | null)[];
      keyTemplates: readonly (string | null)[];
      anchorAtMs: readonly (number | null)[];
      tenantId: number;
    };
    row: { id: string; generation: number };
  };
}
