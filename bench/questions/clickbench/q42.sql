-- Sizes of windows.
select WindowClientWidth, WindowClientHeight, count(*) as n from hits where CounterID = 62 and EventDate >= date '2013-07-01' and EventDate <= date '2013-07-31' and IsRefresh = 0 and DontCountHits = 0 and URLHash = 1 group by WindowClientWidth, WindowClientHeight order by n desc, WindowClientWidth, WindowClientHeight limit 10 offset 100
