-- Notes that a migration was applied.
insert into carillon_migrations (version, name) values (:version, :name)
