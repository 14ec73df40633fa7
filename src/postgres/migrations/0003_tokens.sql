-- Tokens that expire, that tell when they were last used, and that are known to be the environment's.

alter table tokens
  -- "environment": CARILLON_TOKEN or CARILLON_ADMIN_TOKEN of the node that was started last; replaced by the next start with another.
  add column source text not null default 'created' check (source in ('created', 'environment')),
  -- Null: never.
  add column expires_at timestamptz(3),
  -- To the minute. Null: never, or before this column was there.
  add column last_used_at timestamptz(3);

-- Administrators' tokens could come from the environment only; tenants' were labelled.
update tokens set source = 'environment'
 where role = 'admin'
    or label = 'from the configuration' and tenant_id = (select id from tenants where name = 'default');
