-- People in titles with a keyword.
select min(k.keyword) as keyword, min(n.name) as person, min(t.title) as title, count(*) as c
from cast_info ci, keyword k, movie_keyword mk, name n, title t
where k.keyword in ('superhero', 'sequel', 'revenge', 'violence') and n.name like 'ko%' and t.production_year > 2000 and k.id = mk.keyword_id and t.id = mk.movie_id
 and t.id = ci.movie_id and ci.movie_id = mk.movie_id and n.id = ci.person_id
