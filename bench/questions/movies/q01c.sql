-- Companies of a country and what they made, by the note of the link.
select min(cn.name) as company, min(t.title) as title, count(*) as n
from company_name cn, movie_companies mc, title t
where cn.country_code = '[pl]' and mc.company_id = cn.id and mc.movie_id = t.id and mc.note like '%(VHS)%' and t.production_year > 1950
