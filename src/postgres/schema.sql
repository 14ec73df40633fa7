-- Written by npm run sql-types: what the migrations come to, but for the weekly partitions. Nothing runs it.

create function mark_edited_schedule() returns trigger language plpgsql as $$
begin
  delete from schedule_marks m using marks_of_schedule(old.destination, old.labels) as former (mark)
  where m.tenant_id = old.tenant_id and m.mark = former.mark and m.schedule_id = old.id;
  insert into schedule_marks (tenant_id, mark, schedule_id)
  select new.tenant_id, mark, new.id from marks_of_schedule(new.destination, new.labels) as mark on conflict do nothing;
  return null;
end $$;

create function mark_new_schedules() returns trigger language plpgsql as $$
begin
  insert into schedule_marks (tenant_id, mark, schedule_id)
  select s.tenant_id, mark, s.id from new_schedules s, marks_of_schedule(s.destination, s.labels) as mark
  order by 1, 2, 3 on conflict do nothing;
  return null;
end $$;

create function marks_of_schedule(destination text, labels text[]) returns SETOF text language sql immutable as $$
  select 'host ' || left(host, 255)
  from regexp_replace(lower(substring(destination from '^[A-Za-z]+://(?:[^/?#]*@)?([^/?#]*)')), ':[0-9]*$', '') as host
  where host is not null
  union
  select 'label ' || label from unnest(labels) as label
$$;

create function unmark_schedules() returns trigger language plpgsql as $$
begin
  delete from schedule_marks m
  using (select s.tenant_id, s.id, mark from old_schedules s, marks_of_schedule(s.destination, s.labels) as mark) as gone
  where m.tenant_id = gone.tenant_id and m.mark = gone.mark and m.schedule_id = gone.id;
  return null;
end $$;

create table attempts (
  message_id uuid not null,
  attempt integer not null,
  tenant_id integer not null,
  started_at timestamp(3) with time zone not null,
  finished_at timestamp(3) with time zone not null,
  status integer,
  error text,
  headers jsonb,
  body bytea,
  next_attempt_at timestamp(3) with time zone,
  node text,
  constraint attempts_pkey PRIMARY KEY (message_id, attempt)
) partition by RANGE (message_id);
CREATE INDEX attempts_finished ON attempts USING brin (finished_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX attempts_started ON attempts USING brin (started_at) WITH (pages_per_range='32', autosummarize='on');

create table carillon_migrations (
  version integer not null,
  name text not null,
  applied_at timestamp(3) with time zone not null default now(),
  constraint carillon_migrations_pkey PRIMARY KEY (version)
);

create table cluster (
  singleton boolean not null default true,
  shards integer not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint cluster_pkey PRIMARY KEY (singleton),
  constraint cluster_shards_check CHECK (shards >= 1 AND shards <= 4096),
  constraint cluster_singleton_check CHECK (singleton)
);

create table idempotency_keys (
  tenant_id integer not null,
  scope text not null,
  key text not null,
  message_id uuid not null,
  created_at timestamp(3) with time zone not null,
  expires_at timestamp(3) with time zone,
  constraint idempotency_keys_pkey PRIMARY KEY (tenant_id, scope, key),
  constraint idempotency_keys_scope_check CHECK (scope = ANY (ARRAY['key'::text, 'deduplication'::text, 'content'::text]))
)
with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_analyze_scale_factor=0.05);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys USING btree (expires_at) WHERE expires_at IS NOT NULL;

create table messages (
  id uuid not null,
  tenant_id integer not null,
  shard smallint not null,
  kind text not null,
  state text not null default 'pending'::text,
  reason text,
  held boolean not null default false,
  in_dlq boolean not null default false,
  schedule_id text,
  occurrence_at timestamp(3) with time zone,
  covers_until timestamp(3) with time zone,
  overlap text,
  idempotency_key text,
  source_id uuid,
  due_at timestamp(3) with time zone not null,
  next_attempt_at timestamp(3) with time zone not null,
  created_at timestamp(3) with time zone not null,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  attempts integer not null default 0,
  last_status integer,
  last_error text,
  last_headers jsonb,
  last_body bytea,
  node text,
  destination text not null,
  method text not null,
  headers jsonb not null default '{}'::jsonb,
  body bytea not null default '\x'::bytea,
  max_retries integer not null,
  timeout_ms integer not null,
  labels text[],
  options jsonb,
  constraint messages_pkey PRIMARY KEY (id),
  constraint messages_state CHECK (state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text, 'canceled'::text, 'skipped'::text]))
) partition by RANGE (id);
CREATE INDEX messages_by_label ON messages USING gin (labels) WHERE labels IS NOT NULL;
CREATE INDEX messages_by_schedule ON messages USING btree (tenant_id, schedule_id, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX messages_by_tenant ON messages USING btree (tenant_id, id);
CREATE INDEX messages_created ON messages USING brin (created_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX messages_dlq ON messages USING btree (tenant_id, finished_at, id) WHERE in_dlq;
CREATE INDEX messages_finished ON messages USING brin (finished_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX messages_overlap ON messages USING btree (tenant_id, schedule_id, id) WHERE state = 'pending'::text AND overlap IS NOT NULL;
CREATE INDEX messages_pending ON messages USING btree (shard, id) WHERE state = 'pending'::text;
CREATE INDEX messages_started ON messages USING brin (started_at) WITH (pages_per_range='32', autosummarize='on');

create table schedule_changes (
  tenant_id integer not null,
  schedule_id text not null,
  at timestamp(3) with time zone not null,
  generation integer not null,
  change text not null,
  detail jsonb not null default '{}'::jsonb,
  constraint schedule_changes_change_check CHECK (change = ANY (ARRAY['created'::text, 'edited'::text, 'paused'::text, 'resumed'::text, 'deleted'::text, 'ended'::text]))
);
CREATE INDEX schedule_changes_by_schedule ON schedule_changes USING btree (tenant_id, schedule_id, at DESC);

create table schedule_marks (
  tenant_id integer not null,
  mark text collate "C" not null,
  schedule_id text collate "C" not null,
  constraint schedule_marks_pkey PRIMARY KEY (tenant_id, mark, schedule_id)
);

create table schedules (
  tenant_id integer not null,
  id text collate "C" not null,
  shard smallint not null,
  generation integer not null default 1,
  state text not null default 'active'::text,
  cron text not null,
  time_zone text,
  anchor_at timestamp(3) with time zone not null,
  destination text not null,
  method text not null,
  headers jsonb not null default '{}'::jsonb,
  body bytea not null default '\x'::bytea,
  max_retries integer not null,
  timeout_ms integer not null,
  labels text[] not null default '{}'::text[],
  options jsonb not null default '{}'::jsonb,
  delay_ms bigint not null default 0,
  misfire text not null,
  misfire_window_ms bigint not null,
  overlap text not null,
  window_ms bigint not null default 0,
  start_at timestamp(3) with time zone,
  end_at timestamp(3) with time zone,
  key_template text,
  next_fire_at timestamp(3) with time zone,
  last_fire_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone not null,
  updated_at timestamp(3) with time zone not null,
  error text,
  constraint schedules_check CHECK (state <> 'active'::text OR next_fire_at IS NOT NULL),
  constraint schedules_misfire_check CHECK (misfire = ANY (ARRAY['skip'::text, 'once'::text, 'all'::text])),
  constraint schedules_overlap_check CHECK (overlap = ANY (ARRAY['allow'::text, 'skip'::text, 'queue'::text])),
  constraint schedules_pkey PRIMARY KEY (tenant_id, id),
  constraint schedules_state_check CHECK (state = ANY (ARRAY['active'::text, 'paused'::text, 'ended'::text])),
  constraint schedules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id)
)
with (fillfactor=85, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=1000, autovacuum_analyze_scale_factor=0.02);
CREATE INDEX schedules_due ON schedules USING btree (shard, next_fire_at) WHERE state = 'active'::text;
CREATE INDEX schedules_resting ON schedules USING btree (tenant_id, state, id) WHERE state <> 'active'::text;
CREATE TRIGGER schedules_marked AFTER INSERT ON schedules REFERENCING NEW TABLE AS new_schedules FOR EACH STATEMENT EXECUTE FUNCTION mark_new_schedules();
CREATE TRIGGER schedules_remarked AFTER UPDATE OF destination, labels ON schedules FOR EACH ROW WHEN (old.destination IS DISTINCT FROM new.destination OR old.labels IS DISTINCT FROM new.labels) EXECUTE FUNCTION mark_edited_schedule();
CREATE TRIGGER schedules_unmarked AFTER DELETE ON schedules REFERENCING OLD TABLE AS old_schedules FOR EACH STATEMENT EXECUTE FUNCTION unmark_schedules();

create table shards (
  shard smallint not null,
  epoch bigint not null default 0,
  node text,
  granted_at timestamp(3) with time zone,
  constraint shards_pkey PRIMARY KEY (shard)
)
with (fillfactor=50, autovacuum_vacuum_threshold=200);

create table signing_keys (
  tenant_id integer not null,
  current_key text not null,
  next_key text not null,
  rotated_at timestamp(3) with time zone not null default now(),
  constraint signing_keys_pkey PRIMARY KEY (tenant_id),
  constraint signing_keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);

create table tenants (
  id integer not null generated always as identity,
  name text not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint tenants_name_check CHECK (name ~ '^[A-Za-z0-9_.-]{1,64}$'::text),
  constraint tenants_name_key UNIQUE (name),
  constraint tenants_pkey PRIMARY KEY (id)
);

create table tokens (
  hash bytea not null,
  tenant_id integer,
  role text not null,
  label text not null default ''::text,
  created_at timestamp(3) with time zone not null default now(),
  source text not null default 'created'::text,
  expires_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  constraint tokens_check CHECK ((role = 'tenant'::text) = (tenant_id IS NOT NULL)),
  constraint tokens_hash_check CHECK (length(hash) = 32),
  constraint tokens_pkey PRIMARY KEY (hash),
  constraint tokens_role_check CHECK (role = ANY (ARRAY['tenant'::text, 'admin'::text])),
  constraint tokens_source_check CHECK (source = ANY (ARRAY['created'::text, 'environment'::text])),
  constraint tokens_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
CREATE INDEX tokens_by_tenant ON tokens USING btree (tenant_id);
