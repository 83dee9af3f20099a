-- Pages of one site in a month.
select URL, count(*) as n from hits where CounterID = 62 and EventDate >= date '2013-07-01' and EventDate <= date '2013-07-31' and DontCountHits = 0 and IsRefresh = 0 and URL <> '' group by URL order by n desc, URL limit 10
