-- Lets nodes that start at once replace the environment's tokens one after the other: the last one's stay.
--!not-null locked
select 1 as locked from cluster for update
