-- Pages further down a list.
select URL, count(*) as n from hits where CounterID = 62 and EventDate >= date '2013-07-01' and EventDate <= date '2013-07-31' and IsRefresh = 0 and IsLink <> 0 and IsDownload = 0 group by URL order by n desc, URL limit 10 offset 1000
