-- Voices of women in films made in a country.
select min(an.name) as other_name, min(chn.name) as character, min(t.title) as title, count(*) as c
from aka_name an, char_name chn, cast_info ci, company_name cn, movie_companies mc, name n, role_type rt, title t
where ci.note in ('(voice)') and cn.country_code = '[de]' and n.gender = 'f' and n.name like '%li%' and rt.role = 'actress'
 and t.production_year between 1960 and 2015 and ci.movie_id = t.id and t.id = mc.movie_id and ci.movie_id = mc.movie_id and mc.company_id = cn.id
 and ci.role_id = rt.id and n.id = ci.person_id and chn.id = ci.person_role_id and an.person_id = n.id
