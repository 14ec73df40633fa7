-- Whether this node may migrate, until its transaction ends; no other may meanwhile. :lock is a number of our own.
--!not-null locked
select pg_try_advisory_xact_lock(:lock::bigint) as locked
