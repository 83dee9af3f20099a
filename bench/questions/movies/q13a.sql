-- Release dates of films of a country by kind.
select min(mi.info) as released, min(mi_idx.info) as rating, min(t.title) as title, count(*) as n
from company_name cn, company_type ct, info_type it1, info_type it2, kind_type kt, movie_companies mc, movie_info mi, movie_info_idx mi_idx, title t
where cn.country_code = '[de]' and ct.kind = 'production companies' and it1.info = 'rating' and it2.info = 'release dates' and kt.kind = 'movie'
 and mi.movie_id = t.id and it2.id = mi.info_type_id and kt.id = t.kind_id and mc.movie_id = t.id and cn.id = mc.company_id
 and ct.id = mc.company_type_id and mi_idx.movie_id = t.id and it1.id = mi_idx.info_type_id and mi.movie_id = mi_idx.movie_id
 and mi.movie_id = mc.movie_id and mi_idx.movie_id = mc.movie_id
