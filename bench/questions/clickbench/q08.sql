-- Few groups after a selective filter.
select AdvEngineID, count(*) as n from hits where AdvEngineID <> 0 group by AdvEngineID order by n desc, AdvEngineID
