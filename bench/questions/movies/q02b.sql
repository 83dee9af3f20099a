-- The best rated by kind of company.
select min(mc.note) as note, min(t.title) as title, min(t.production_year) as year, count(*) as n
from company_type ct, info_type it, movie_companies mc, movie_info_idx mi_idx, title t
where ct.kind = 'distributors' and it.info = 'rating' and mc.note is not null and ct.id = mc.company_type_id and t.id = mc.movie_id
 and t.id = mi_idx.movie_id and mc.movie_id = mi_idx.movie_id and it.id = mi_idx.info_type_id
