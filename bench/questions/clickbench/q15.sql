-- A number and a phrase as keys.
select SearchEngineID, SearchPhrase, count(*) as c from hits where SearchPhrase <> '' group by SearchEngineID, SearchPhrase order by c desc, SearchEngineID, SearchPhrase limit 10
