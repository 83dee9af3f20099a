-- A filter on a column that is nearly always 0.
select count(*) from hits where AdvEngineID <> 0
