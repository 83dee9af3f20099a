-- Names of people in titles of a company's country with a keyword.
select min(an.name) as other_name, min(t.title) as title, count(*) as n
from aka_name an, cast_info ci, company_name cn, keyword k, movie_companies mc, movie_keyword mk, name n, title t
where cn.country_code = '[se]' and k.keyword = 'family' and t.episode_nr >= 10 and an.person_id = n.id and n.id = ci.person_id and ci.movie_id = t.id
 and t.id = mk.movie_id and mk.keyword_id = k.id and t.id = mc.movie_id and mc.company_id = cn.id and an.person_id = ci.person_id
 and ci.movie_id = mc.movie_id and ci.movie_id = mk.movie_id and mc.movie_id = mk.movie_id
