-- Ratings of titles with a keyword.
select min(mi_idx.info) as rating, min(t.title) as title, count(*) as n
from info_type it, keyword k, movie_info_idx mi_idx, movie_keyword mk, title t
where it.info = 'rating' and k.keyword like '%e%' and mi_idx.info > '7.5' and t.production_year > 2010 and t.id = mi_idx.movie_id
 and t.id = mk.movie_id and mk.movie_id = mi_idx.movie_id and k.id = mk.keyword_id and it.id = mi_idx.info_type_id
