-- A keyword and where its titles come from.
select min(t.title) as title, count(*) as n
from keyword k, movie_info mi, movie_keyword mk, title t
where k.keyword like '%love%' and mi.info in ('India', 'Hindi') and t.production_year > 1990 and t.id = mi.movie_id and t.id = mk.movie_id
 and mk.movie_id = mi.movie_id and k.id = mk.keyword_id
