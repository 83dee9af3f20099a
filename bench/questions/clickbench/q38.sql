-- Titles of one site in a month.
select Title, count(*) as n from hits where CounterID = 62 and EventDate >= date '2013-07-01' and EventDate <= date '2013-07-31' and DontCountHits = 0 and IsRefresh = 0 and Title <> '' group by Title order by n desc, Title limit 10
