-- The version of the schema: that of the latest migration, null where there is none.
select max(version) as version from carillon_migrations
