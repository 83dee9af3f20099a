-- Distinct users by phrase.
select SearchPhrase, count(distinct UserID) as u from hits where SearchPhrase <> '' group by SearchPhrase order by u desc, SearchPhrase limit 10
