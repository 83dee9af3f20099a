-- Films of a language by companies of a kind.
select min(t.title) as title, count(*) as n
from company_type ct, info_type it, movie_companies mc, movie_info mi, title t
where ct.kind = 'production companies' and mc.note like '%(theatrical)%' and mi.info in ('French', 'German', 'Swedish') and t.production_year > 2005 and t.id = mi.movie_id
 and t.id = mc.movie_id and mc.movie_id = mi.movie_id and ct.id = mc.company_type_id and it.id = mi.info_type_id
