-- What the cluster was made with.
select shards from cluster
