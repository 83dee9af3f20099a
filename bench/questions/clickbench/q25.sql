-- Phrases by time.
select SearchPhrase, EventTime from hits where SearchPhrase <> '' order by EventTime, SearchPhrase limit 10
