-- Inserts messages, once each, with the parameters of insert-new-messages.sql. Gives the ids that were new. Looking for
-- those that are there already costs PostgreSQL a quarter more for each row.
--!include insert-new-messages
on conflict (id) do nothing
returning id
