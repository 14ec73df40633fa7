-- Fixes the number of shards, unless that was done.
insert into cluster (shards) values (:shards) on conflict do nothing
