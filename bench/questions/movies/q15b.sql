-- Other titles and release dates on the internet.
select min(akt.title) as other_title, min(t.title) as title, count(*) as n
from aka_title akt, company_name cn, company_type ct, info_type it, movie_companies mc, movie_info mi, title t
where cn.country_code = '[us]' and it.info = 'release dates' and mi.note like '%DVD%' and mi.info like '%' and t.production_year > 1990
 and t.id = akt.movie_id and t.id = mi.movie_id and t.id = mc.movie_id and mi.movie_id = mc.movie_id and mi.movie_id = akt.movie_id
 and mc.movie_id = akt.movie_id and it.id = mi.info_type_id and cn.id = mc.company_id and ct.id = mc.company_type_id
