-- PostgreSQL's clock at this moment, not when the transaction began.
--!not-null at
select clock_timestamp() as at
