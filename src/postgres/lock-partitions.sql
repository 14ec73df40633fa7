-- Lets one node at a time make partitions: until its transaction ends. :lock is a number of our own.
--!not-null locked
select 1 as locked from pg_advisory_xact_lock(:lock::bigint)
