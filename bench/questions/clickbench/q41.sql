-- Hashes of pages by day after a filter on one source.
select URLHash, EventDate, count(*) as n from hits where CounterID = 62 and EventDate >= date '2013-07-01' and EventDate <= date '2013-07-31' and IsRefresh = 0 and TraficSourceID in (-1, 6) and RefererHash = 0 group by URLHash, EventDate order by n desc, URLHash, EventDate limit 10 offset 100
