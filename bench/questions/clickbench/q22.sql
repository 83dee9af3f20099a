-- Phrases of rows whose address has a piece.
select SearchPhrase, min(URL), count(*) as c from hits where URL like '%shop%' and SearchPhrase <> '' group by SearchPhrase order by c desc, SearchPhrase limit 10
