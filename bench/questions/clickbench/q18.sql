-- Users and phrases with a bound on groups and no order of counts.
select UserID, SearchPhrase, count(*) as n from hits group by UserID, SearchPhrase order by UserID, SearchPhrase limit 10
