-- Ratings of murders in some countries.
select min(mi_idx.info) as rating, min(t.title) as title, count(*) as n
from info_type it1, info_type it2, keyword k, kind_type kt, movie_info mi, movie_info_idx mi_idx, movie_keyword mk, title t
where it1.info = 'countries' and it2.info = 'rating' and k.keyword in ('dog', 'space', 'school') and kt.kind in ('episode') and mi.info in ('USA', 'UK') and mi_idx.info < '9.9'
 and t.production_year > 1950 and kt.id = t.kind_id and t.id = mi.movie_id and t.id = mk.movie_id and t.id = mi_idx.movie_id
 and mk.movie_id = mi.movie_id and mk.movie_id = mi_idx.movie_id and mi.movie_id = mi_idx.movie_id and k.id = mk.keyword_id
 and it1.id = mi.info_type_id and it2.id = mi_idx.info_type_id
