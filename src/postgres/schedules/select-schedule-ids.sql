-- The next ids of a tenant's schedules, in order: from :fromId on, after :afterId and before :beforeId (null: to the
-- end).
--!nullable :beforeId
select s.id from schedules s
where s.tenant_id = :tenantId and s.id >= :fromId and s.id > :afterId and (:beforeId::text is null or s.id < :beforeId)
order by s.id
limit :limit
