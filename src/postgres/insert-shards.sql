-- A row for each shard that has none yet.
insert into shards (shard) select generate_series(0, (select shards from cluster) - 1) on conflict do nothing
