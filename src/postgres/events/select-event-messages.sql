-- What events say about their messages. :maxBodyBytes is the longest body to give.
select case when octet_length(m.body) <= :maxBodyBytes then m.body end as body, m.last_status, m.last_error,
  m.last_headers, m.last_body,
  --!include message-record-columns
from messages m
where m.id = any(:messageIds::uuid[])
