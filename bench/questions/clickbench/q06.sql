-- Distinct texts, most of them empty.
select count(distinct SearchPhrase) from hits
