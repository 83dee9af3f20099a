-- Ratings of murders in some countries.
select min(mi_idx.info) as rating, min(t.title) as title, count(*) as n
from info_type it1, info_type it2, keyword k, kind_type kt, movie_info mi, movie_info_idx mi_idx, movie_keyword mk, title t
where it1.info = 'countries' and it2.info = 'rating' and k.keyword in ('murder', 'blood', 'violence') and kt.kind in ('movie') and mi.info in ('Sweden', 'Germany', 'USA', 'Spain') and mi_idx.info < '8.5'
 and t.production_year > 2005 and kt.id = t.kind_id and t.id = mi.movie_id and t.id = mk.movie_id and t.id = mi_idx.movie_id
 and mk.movie_id = mi.movie_id and mk.movie_id = mi_idx.movie_id and mi.movie_id = mi_idx.movie_id and k.id = mk.keyword_id
 and it1.id = mi.info_type_id and it2.id = mi_idx.info_type_id
