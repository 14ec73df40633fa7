-- Schedules that cannot be fired, and messages of tenants that do not exist.

-- Why an active schedule cannot be fired: a row that nobody can read, or a time zone that a node does not know. Null while all is well.
alter table schedules add column error text;

-- messages.tenant_id has no foreign key: measured with groups of 500 rows (the largest), checking each row by one made inserting them two
-- fifths slower, and locks the tenant's row in each transaction. The statements that insert messages look the tenant up instead
-- (sql/insert-new-messages.sql), which is below what can be measured. A depth (docs/loops.md) is in the column `options`.
