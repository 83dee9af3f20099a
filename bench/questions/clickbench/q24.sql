-- Whole rows by time after a filter on text.
select WatchID, EventTime, CounterID, URL from hits where URL like '%shop%' order by EventTime, WatchID limit 10
