-- Well rated titles of companies by genre.
select min(cn.name) as company, min(mi_idx.info) as rating, min(t.title) as title, count(*) as n
from company_name cn, company_type ct, info_type it1, info_type it2, movie_companies mc, movie_info mi, movie_info_idx mi_idx, title t
where cn.country_code = '[jp]' and ct.kind = 'production companies' and it1.info = 'genres' and it2.info = 'rating' and mi.info in ('Animation')
 and mi_idx.info > '6.0' and t.production_year between 1990 and 2008 and t.id = mi.movie_id and t.id = mi_idx.movie_id
 and mi.info_type_id = it1.id and mi_idx.info_type_id = it2.id and t.id = mc.movie_id and ct.id = mc.company_type_id and cn.id = mc.company_id
 and mc.movie_id = mi.movie_id and mc.movie_id = mi_idx.movie_id and mi.movie_id = mi_idx.movie_id
