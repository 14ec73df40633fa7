-- The system of record: tenants, shards and their epochs, schedules, messages, attempts, idempotency keys.
-- Times are timestamptz(3): milliseconds, as everywhere in Carillon. Bodies and answers are bytea: bytes in, bytes out.

create table cluster (
  singleton boolean primary key default true check (singleton),
  shards integer not null check (shards between 1 and 4096),
  created_at timestamptz(3) not null default now()
);

create table shards (
  shard smallint primary key,
  epoch bigint not null default 0,
  node text,
  granted_at timestamptz(3)
);

create table tenants (
  id integer generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9_.-]{1,64}$'),
  created_at timestamptz(3) not null default now()
);

-- A token is known by its SHA-256 only. Administrators' tokens belong to no tenant.
create table tokens (
  hash bytea primary key check (length(hash) = 32),
  tenant_id integer references tenants (id) on delete cascade,
  role text not null check (role in ('tenant', 'admin')),
  label text not null default '',
  created_at timestamptz(3) not null default now(),
  check ((role = 'tenant') = (tenant_id is not null))
);
create index tokens_by_tenant on tokens (tenant_id);

create table signing_keys (
  tenant_id integer primary key references tenants (id) on delete cascade,
  current_key text not null,
  next_key text not null,
  rotated_at timestamptz(3) not null default now()
);

create table schedules (
  tenant_id integer not null references tenants (id),
  id text not null,
  shard smallint not null,
  generation integer not null default 1,
  state text not null default 'active' check (state in ('active', 'paused', 'ended')),
  cron text not null,
  time_zone text,
  anchor_at timestamptz(3) not null,
  destination text not null,
  method text not null,
  headers jsonb not null default '{}',
  body bytea not null default '',
  max_retries integer not null,
  timeout_ms integer not null,
  labels text[] not null default '{}',
  -- Settings that few schedules use: retryDelay, callback, failureCallback, redact, callerIp.
  options jsonb not null default '{}',
  delay_ms bigint not null default 0,
  misfire text not null check (misfire in ('skip', 'once', 'all')),
  misfire_window_ms bigint not null,
  overlap text not null check (overlap in ('allow', 'skip', 'queue')),
  window_ms bigint not null default 0,
  start_at timestamptz(3),
  end_at timestamptz(3),
  key_template text,
  next_fire_at timestamptz(3),
  last_fire_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (tenant_id, id),
  -- An active schedule always has its next fire time.
  check (state <> 'active' or next_fire_at is not null)
);
create index schedules_due on schedules (shard, next_fire_at) where state = 'active';

-- What was changed on a schedule and when; read by people who ask why something did not run.
create table schedule_changes (
  tenant_id integer not null,
  schedule_id text not null,
  at timestamptz(3) not null,
  generation integer not null,
  change text not null check (change in ('created', 'edited', 'paused', 'resumed', 'deleted', 'ended')),
  detail jsonb not null default '{}'
);
create index schedule_changes_by_schedule on schedule_changes (tenant_id, schedule_id, at desc);

-- One row answers "did this run, and what did it do". The id is a UUIDv7 whose time is the due time; a partition is a week.
create table messages (
  id uuid not null,
  tenant_id integer not null,
  shard smallint not null,
  kind text not null,
  state text not null default 'pending',
  -- Why it was skipped or canceled.
  reason text,
  -- Waits for the occurrence before it to end (overlap policy "queue"); not in the queue meanwhile.
  held boolean not null default false,
  -- A failed message that is listed as a dead letter.
  in_dlq boolean not null default false,
  schedule_id text,
  occurrence_at timestamptz(3),
  -- A skipped row that stands for all occurrences from occurrence_at up to this one.
  covers_until timestamptz(3),
  overlap text,
  idempotency_key text,
  source_id uuid,
  due_at timestamptz(3) not null,
  next_attempt_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  attempts integer not null default 0,
  last_status integer,
  last_error text,
  last_headers jsonb,
  last_body bytea,
  node text,
  destination text not null,
  method text not null,
  headers jsonb not null default '{}',
  body bytea not null default '',
  max_retries integer not null,
  timeout_ms integer not null,
  labels text[],
  options jsonb,
  primary key (id),
  constraint messages_state check (state in ('pending', 'delivered', 'failed', 'canceled', 'skipped'))
) partition by range (id);
create index messages_pending on messages (shard, id) where state = 'pending';
create index messages_by_tenant on messages (tenant_id, id);
create index messages_by_schedule on messages (tenant_id, schedule_id, id) where schedule_id is not null;
create index messages_overlap on messages (tenant_id, schedule_id, id) where state = 'pending' and overlap is not null;
create index messages_dlq on messages (tenant_id, finished_at, id) where in_dlq;
create index messages_by_label on messages using gin (labels) where labels is not null;
-- For lists by time, over all weeks. Small ranges, summarized as they fill: a range without a summary is read each time.
create index messages_created on messages using brin (created_at) with (pages_per_range = 32, autosummarize = on);
create index messages_started on messages using brin (started_at) with (pages_per_range = 32, autosummarize = on);
create index messages_finished on messages using brin (finished_at) with (pages_per_range = 32, autosummarize = on);

-- A row for each failed attempt; the outcome of the last one is on the message.
create table attempts (
  message_id uuid not null,
  attempt integer not null,
  tenant_id integer not null,
  started_at timestamptz(3) not null,
  finished_at timestamptz(3) not null,
  status integer,
  error text,
  headers jsonb,
  body bytea,
  next_attempt_at timestamptz(3),
  node text,
  primary key (message_id, attempt)
) partition by range (message_id);
create index attempts_started on attempts using brin (started_at) with (pages_per_range = 32, autosummarize = on);
create index attempts_finished on attempts using brin (finished_at) with (pages_per_range = 32, autosummarize = on);

-- What work is for: "key" is Carillon-Idempotency-Key, "deduplication" Upstash-Deduplication-Id, "content" the hash of a request.
create table idempotency_keys (
  tenant_id integer not null,
  scope text not null check (scope in ('key', 'deduplication', 'content')),
  key text not null,
  message_id uuid not null,
  created_at timestamptz(3) not null,
  -- Null while the message of a "key" has not ended.
  expires_at timestamptz(3),
  primary key (tenant_id, scope, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at) where expires_at is not null;
