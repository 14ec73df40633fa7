-- PostgreSQL's clock at this moment, not when the transaction began.
select clock_timestamp() as at
