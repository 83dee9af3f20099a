-- Two pieces, one of which may not be there.
select SearchPhrase, min(URL), min(Title), count(*) as c, count(distinct UserID) from hits where Title like '%Offer%' and URL not like '%.shop%' and SearchPhrase <> '' group by SearchPhrase order by c desc, SearchPhrase limit 10
