-- Phrases by time and themselves.
select SearchPhrase from hits where SearchPhrase <> '' order by EventTime, SearchPhrase limit 10
