-- Nearly unique keys after a filter.
select WatchID, ClientIP, count(*) as c, sum(IsRefresh), avg(ResolutionWidth) from hits where SearchPhrase <> '' group by WatchID, ClientIP order by c desc, WatchID, ClientIP limit 10
