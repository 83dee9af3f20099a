-- How many rows.
select count(*) from hits
