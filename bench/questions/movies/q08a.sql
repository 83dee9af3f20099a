-- Roles, companies and other names of people.
select min(an.name) as other_name, min(t.title) as title, count(*) as c
from aka_name an, cast_info ci, company_name cn, movie_companies mc, name n, role_type rt, title t
where ci.note = '(voice)' and cn.country_code = '[jp]' and rt.role = 'actress' and an.person_id = n.id and n.id = ci.person_id and ci.movie_id = t.id
 and t.id = mc.movie_id and mc.company_id = cn.id and ci.role_id = rt.id and an.person_id = ci.person_id and ci.movie_id = mc.movie_id
