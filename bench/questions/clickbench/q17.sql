-- Users and phrases.
select UserID, SearchPhrase, count(*) as n from hits group by UserID, SearchPhrase order by n desc, UserID, SearchPhrase limit 10
