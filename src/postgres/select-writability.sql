-- Whether the server takes no writes ("on"), as one that was demoted.
--!not-null read_only
select current_setting('transaction_read_only') as read_only
