-- Users, minutes and phrases.
select UserID, extract(minute from EventTime) as m, SearchPhrase, count(*) as n from hits group by UserID, extract(minute from EventTime), SearchPhrase order by n desc, UserID, m, SearchPhrase limit 10
