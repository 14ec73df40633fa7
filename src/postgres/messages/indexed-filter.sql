-- The conditions of a message filter that an index of `messages` answers, so that they stand where rows are looked for.
-- A null asks nothing: the planner, which knows the values, leaves the condition out. Of one schedule (:scheduleId) the
-- index gives the runs in their order: a page then reads no more than a page, however many there are.
--!fragment
--!nullable :messageIds, :scheduleId, :scheduleIds, :labels
(:messageIds::uuid[] is null or m.id = any(:messageIds::uuid[]))
and (:scheduleId::text is null or m.schedule_id = :scheduleId::text)
and (:scheduleIds::text[] is null or m.schedule_id = any(:scheduleIds::text[]))
and (:labels::text[] is null or m.labels && :labels::text[])
