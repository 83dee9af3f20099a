-- Characters that one note and one country leave.
select min(chn.name) as character, min(t.title) as title, count(*) as c
from char_name chn, cast_info ci, company_name cn, company_type ct, movie_companies mc, role_type rt, title t
where ci.note like '%(producer)%' and cn.country_code = '[us]' and rt.role = 'actor' and t.production_year > 1990 and t.id = mc.movie_id
 and t.id = ci.movie_id and ci.movie_id = mc.movie_id and chn.id = ci.person_role_id and rt.id = ci.role_id and cn.id = mc.company_id
 and ct.id = mc.company_type_id
