-- Another change has this number.
select 1;
