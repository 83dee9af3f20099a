-- Biographies of people whose titles are linked.
select min(n.name) as person, min(t.title) as title, count(*) as c
from aka_name an, cast_info ci, info_type it, link_type lt, movie_link ml, name n, person_info pi, title t
where an.name like '%a%' and it.info = 'biography' and lt.link = 'follows' and n.gender = 'm' and t.production_year between 1980 and 2013
 and n.id = an.person_id and n.id = pi.person_id and ci.person_id = n.id and t.id = ci.movie_id and ml.linked_movie_id = t.id
 and lt.id = ml.link_type_id and it.id = pi.info_type_id and pi.person_id = an.person_id
